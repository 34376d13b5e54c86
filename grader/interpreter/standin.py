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


_MATH = "exp exp2 log log2 sqrt sqrt_rn rsqrt sin cos floor ceil erf abs fma umulhi fdiv div_rn".split()  # noqa: SIM905
_RANDOM = ("rand", "rand4x", "randn", "randn4x", "randint", "randint4x", "philox", "philox_impl")


def _language() -> dict[str, dict[str, Any]]:
    """Contents of triton.language and what lies below it."""
    tl = language.names()
    return {
        "triton.language": tl,
        "triton.language.core": tl,
        "triton.language.standard": tl,
        "triton.language.math": {name: tl[name] for name in _MATH},
        "triton.language.random": {name: tl[name] for name in _RANDOM},
        "triton.language.extra": {},
        "triton.language.extra.libdevice": dict(language.LIBDEVICE),
        "triton.language.extra.cuda": {},
        "triton.language.extra.cuda.libdevice": dict(language.LIBDEVICE),
    }


def _host() -> dict[str, dict[str, Any]]:
    """Contents of triton itself and of what a host file uses."""
    return {
        "triton": {
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
        },
        "triton.tools": {},
        "triton.tools.tensor_descriptor": {"TensorDescriptor": TensorDescriptor},
        "triton.runtime": {"JITFunction": Function, "Config": Config},
        "triton.runtime.driver": {"active": Active()},
        "triton.testing": {"do_bench": do_bench, "Benchmark": Benchmark, "perf_report": perf_report},
    }


def _modules() -> dict[str, ModuleType]:
    """All of them by name, each an attribute of the one above it."""
    modules = {name: _module(name, contents) for name, contents in {**_host(), **_language()}.items()}
    for name, module in modules.items():
        module.__package__ = name
        module.__path__ = []
        above, _, last = name.rpartition(".")
        if above:
            setattr(modules[above], last, module)
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
