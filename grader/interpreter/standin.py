"""Modules that answer to `import triton`, so that learner files run unmodified, with or without triton installed.

`install` puts them into sys.modules for good; `installed` only while a block runs, which is enough for a file that
imports triton at its top.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from grader.interpreter import language
from grader.interpreter.host import Active, Benchmark, TensorDescriptor, do_bench, perf_report
from grader.interpreter.jit import Function, jit
from grader.interpreter.scope import ConstexprFunction, Missing
from grader.interpreter.tuning import Config, autotune, heuristics

VERSION = "3.7.0"  # whose language this is


def _cdiv(x: int, y: int) -> int:
    return (x + y - 1) // y


def _next_power_of_2(n: int) -> int:
    return 1 << (n - 1).bit_length()


def _module(name: str, contents: dict[str, Any]) -> ModuleType:
    module = ModuleType(name)
    module.__dict__.update(contents)

    def missing(attribute: str) -> Any:
        if attribute.startswith("__"):
            raise AttributeError(attribute)
        return Missing(f"{name}.{attribute}")

    module.__dict__["__getattr__"] = missing
    return module


def _modules() -> dict[str, ModuleType]:
    tl = language.names()
    mathematics = {
        name: tl[name]
        for name in [
            "exp",
            "exp2",
            "log",
            "log2",
            "sqrt",
            "sqrt_rn",
            "rsqrt",
            "sin",
            "cos",
            "floor",
            "ceil",
            "erf",
            "abs",
            "fma",
        ]
    }
    mathematics |= {name: tl[name] for name in ("umulhi", "fdiv", "div_rn")}
    libdevice = _module("triton.language.extra.libdevice", dict(language.LIBDEVICE))
    cuda = _module("triton.language.extra.cuda", {"libdevice": libdevice})
    extra = _module("triton.language.extra", {"libdevice": libdevice, "cuda": cuda})
    math = _module("triton.language.math", mathematics)
    random = _module("triton.language.random", {name: tl[name] for name in ("rand", "randn", "randint", "philox")})
    core = _module("triton.language.core", tl)
    standard = _module("triton.language.standard", tl)
    lang = _module(
        "triton.language",
        {**tl, "math": math, "extra": extra, "random": random, "core": core, "standard": standard},
    )
    descriptor = _module("triton.tools.tensor_descriptor", {"TensorDescriptor": TensorDescriptor})
    tools = _module("triton.tools", {"tensor_descriptor": descriptor})
    driver = _module("triton.runtime.driver", {"active": Active()})
    runtime = _module("triton.runtime", {"JITFunction": Function, "Config": Config, "driver": driver})
    testing = _module("triton.testing", {"do_bench": do_bench, "Benchmark": Benchmark, "perf_report": perf_report})
    root = _module(
        "triton",
        {
            "__version__": VERSION,
            "jit": jit,
            "autotune": autotune,
            "heuristics": heuristics,
            "Config": Config,
            "JITFunction": Function,
            "constexpr_function": ConstexprFunction,
            "cdiv": ConstexprFunction(_cdiv),
            "next_power_of_2": ConstexprFunction(_next_power_of_2),
            "set_allocator": lambda allocator: None,
            "language": lang,
            "runtime": runtime,
            "testing": testing,
            "tools": tools,
        },
    )
    found = [
        root,
        lang,
        math,
        random,
        core,
        standard,
        extra,
        cuda,
        libdevice,
        tools,
        descriptor,
        runtime,
        driver,
        testing,
    ]
    modules = {module.__name__: module for module in found}
    modules["triton.language.extra.cuda.libdevice"] = libdevice
    for name, module in modules.items():
        module.__package__ = name
        module.__path__ = []
    return modules


MODULES = _modules()


class _Elsewhere(MetaPathFinder, Loader):
    """Any other module below triton: it can be imported, and whatever is called in it is refused."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        return ModuleSpec(name, self, is_package=True) if name.startswith("triton.") else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _module(spec.name, {})

    def exec_module(self, module: ModuleType) -> None:
        """Nothing to run."""


_ELSEWHERE = _Elsewhere()


def install() -> None:
    """From here on `import triton` gives the stand-in."""
    _remove_real()
    sys.modules.update(MODULES)
    sys.meta_path.insert(0, _ELSEWHERE)


def _remove_real() -> dict[str, ModuleType]:
    real = {name: module for name, module in sys.modules.items() if name.split(".")[0] == "triton"}
    for name in real:
        del sys.modules[name]
    return real


@contextmanager
def installed() -> Iterator[ModuleType]:
    """`import triton` gives the stand-in inside the block."""
    before = _remove_real()
    sys.modules.update(MODULES)
    sys.meta_path.insert(0, _ELSEWHERE)
    try:
        yield MODULES["triton"]
    finally:
        sys.meta_path.remove(_ELSEWHERE)
        _remove_real()
        sys.modules.update(before)
