"""What Triton's real compiler says of a kernel: refused with a line, or what a program of it costs. Needs no GPU.

Runs inside a sandbox, in a process that has the real triton and never executes a learner's host code: kernels are
read from the file's text by `grader.definitions`. A compiler evaluates constants in Python, so kernels see a few
names of the language and nothing through which Python itself could be reached; else a kernel could say of itself
that it compiles.

Reading order: `FrontEnd.compile` → `_Target.refusal` (the language) → `_Target.build` (machine code).
"""

from __future__ import annotations

import ast
import contextlib
import importlib
import inspect
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any, Final

from grader import wire
from grader.definitions import Language, definitions

LONGEST: Final = 500
MOST_HEARD: Final = 1 << 20  # bytes of what is printed that are looked at
MODULES: Final = (
    *("triton", "triton.language", "triton.language.core", "triton.language.standard", "triton.language.math"),
    *("triton.language.random", "triton.language.extra", "triton.language.extra.libdevice"),
    *("triton.language.extra.cuda", "triton.language.extra.cuda.libdevice"),
)
WARM_UP: Final = wire.Compile(
    id=0,
    source=(
        "import triton\nimport triton.language as tl\n\n\n@triton.jit\ndef warm_up(x, y, N: tl.constexpr):\n"
        "    at = tl.arange(0, N)\n    tl.store(y + at, tl.load(x + at, mask=at < N, other=0.0) * 2)\n"
    ),
    kernel=wire.Kernel(name="warm_up", signature={"x": "*fp32", "y": "*fp32"}, constants={"N": 16}),
    targets=[90],
    to_the_end=True,
)


class FrontEnd:
    """Serves `wire.Compile`. Imports triton once; raises `ImportError` where there is none."""

    def __init__(self) -> None:
        self._triton: Any = importlib.import_module("triton")
        self._error: type[Exception] = importlib.import_module("triton.compiler.errors").CompilationError
        self._language = _language(self._triton)
        _guard(self._language)
        importlib.import_module("triton.knobs").nvidia.dump_ptxas_log = True
        self._read: tuple[str, dict[str, Any]] = ("", {})
        self._names: dict[str, Any] = {}
        (built,) = self.compile(WARM_UP).built
        if built.refused or built.trouble:
            raise RuntimeError(f"the compiler does not work: {built.refused or built.trouble}")

    def compile(self, order: wire.Compile) -> wire.Compiled:
        """The kernel for each target."""
        return wire.Compiled(id=order.id, built=[self._built(order, target) for target in order.targets])

    def _built(self, order: wire.Compile, target: int) -> wire.Built:
        try:
            function = self._function(order)
            source = self._source(function, order.kernel)
            ready = _Target(target, order.kernel)
            ready.refusal(source, order.filename)
            if not order.to_the_end:
                return wire.Built(target=target)
            return ready.build(self._triton, source)
        except self._error as error:
            text, line = self._reason(error)
            return wire.Built(target=target, refused=_said(text)[:LONGEST] or "it is refused", line=line)
        except _Refused as error:
            return wire.Built(target=target, refused=str(error)[:LONGEST], line=error.line)
        except Exception as error:
            return wire.Built(target=target, trouble=f"{type(error).__name__}: {error}"[:LONGEST])

    def _function(self, order: wire.Compile) -> Any:
        if (order.source, order.globals) != self._read:
            self._names = definitions(order.source, order.filename, self._language)
            for name, value in order.globals.items():
                self._names.setdefault(name, self._triton.language.constexpr(value))
            self._read = order.source, order.globals
            _check_attributes(order.source)
        function = self._names.get(order.kernel.name)
        if not hasattr(function, "arg_names"):
            raise LookupError(f"the file does not define `{order.kernel.name}` as a kernel by itself")
        return function

    def _source(self, function: Any, kernel: wire.Kernel) -> Any:
        """The kernel with its types."""
        signature, constants, attributes = {}, {}, {}
        for place, name in enumerate(function.arg_names):
            kind = kernel.signature.get(name, wire.CONSTANT)
            signature[name] = _written(kind)
            for path in _constants_in(kind, (place,)):
                constants[path] = self._constant(_at(kernel.constants[name], path[1:]))
            if name in kernel.divisible:
                attributes[(place,)] = [["tt.divisibility", 16]]
        return self._triton.compiler.ASTSource(function, signature, constants, attributes)

    def _constant(self, value: wire.Traced) -> Any:
        match value:
            case wire.Named(kind="dtype"):
                return self._triton.language.dtype(value.name)
            case wire.Named(kind="function"):
                return self._names[value.name]
            case wire.Several():
                return tuple(self._constant(item) for item in value.items)
            case bool() | int() | float() | str() | None:
                return value
        raise LookupError("it was given something that the compiler can't be told")

    def _reason(self, error: BaseException) -> tuple[str, int | None]:
        """What the innermost compilation error says, and the innermost line of the file on the way to it."""
        text, line = "", None
        functions = {f.src: f for f in self._names.values() if hasattr(f, "arg_names")}
        seen: BaseException | None = error
        while seen is not None:
            function = functions.get(getattr(seen, "src", None) or "")
            if function is not None and hasattr(getattr(seen, "node", None), "lineno"):
                line = int(seen.node.lineno) + _first_line(function) - 1  # type: ignore[attr-defined]
            said = getattr(seen, "error_message", None) if isinstance(seen, self._error) else str(seen)
            text = str(said).strip() if said else text
            seen = seen.__cause__
        return text, line


def _written(kind: str | wire.Kinds) -> Any:
    """A type as the compiler takes it."""
    return tuple(map(_written, kind.items)) if isinstance(kind, wire.Kinds) else kind


def _constants_in(kind: str | wire.Kinds, path: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Where constants stand: the parameter's place, then places inside of tuples."""
    if isinstance(kind, wire.Kinds):
        for place, item in enumerate(kind.items):
            yield from _constants_in(item, (*path, place))
    elif kind == wire.CONSTANT:
        yield path


def _at(value: wire.Traced, path: tuple[int, ...]) -> wire.Traced:
    for place in path:
        assert isinstance(value, wire.Several)
        value = value.items[place]
    return value


class _Target:
    """A GPU's architecture, and the kernel's options on it."""

    def __init__(self, capability: int, kernel: wire.Kernel) -> None:
        compiler: Any = importlib.import_module("triton.compiler.compiler")
        self._capability = capability
        self._target = importlib.import_module("triton.backends.compiler").GPUTarget("cuda", capability, 32)
        self._backend = compiler.make_backend(self._target)
        self._options = {"num_warps": kernel.num_warps, "num_stages": kernel.num_stages}

    def refusal(self, source: Any, filename: str) -> None:
        """As far as the language goes. Raises triton's `CompilationError`, or `_Refused` where it checks later."""
        ir: Any = importlib.import_module("triton._C.libtriton").ir
        options = self._backend.parse_options(dict(self._options))
        context = ir.context()
        ir.load_dialects(context)
        self._backend.load_dialects(context)
        code = self._backend.get_codegen_implementation(options)
        with _heard() as said:
            try:
                source.make_ir(self._target, options, code, self._backend.get_module_map(), context)
            except RuntimeError:
                # What was made of the text does not hold together; why is only printed.
                found = re.search(rf"^{re.escape(filename)}:(\d+):\d+: error: (.*)$", said(), re.MULTILINE)
                if found is None:
                    raise
                raise _Refused(found[2], int(found[1])) from None

    def build(self, triton: Any, source: Any) -> wire.Built:
        """Down to machine code, with the assembler's figures."""
        with _heard() as said:
            kernel = triton.compile(source, target=self._target, options=self._options)
            log = said()
        return wire.Built(
            target=self._capability,
            registers=_number(r"Used (\d+) registers", log),
            spilled_bytes=_number(r"(\d+) bytes spill stores", log),
            shared_bytes=int(kernel.metadata.shared),
        )


class _Refused(Exception):
    """We refuse it ourselves."""

    def __init__(self, text: str, line: int) -> None:
        super().__init__(text)
        self.line = line


@contextlib.contextmanager
def _heard() -> Iterator[Callable[[], str]]:
    """What is printed inside the block, by native code too, goes nowhere but into the text that is asked for."""
    kept = [os.dup(1), os.dup(2)]
    with tempfile.TemporaryFile() as heard:

        def said() -> str:
            sys.stdout.flush()
            end = os.fstat(heard.fileno()).st_size
            return os.pread(heard.fileno(), MOST_HEARD, max(0, end - MOST_HEARD)).decode("utf-8", "replace")

        try:
            os.dup2(heard.fileno(), 1)
            os.dup2(heard.fileno(), 2)
            yield said
        finally:
            sys.stdout.flush()
            for number, descriptor in enumerate(kept, 1):
                os.dup2(descriptor, number)
                os.close(descriptor)


def _said(text: str) -> str:
    """Without the exception's class around it, where triton shows one: `NameError('v is not defined')`."""
    found = re.fullmatch(r"\w+(?:Error|Exception)\((['\"])(.*)\1\)", text, re.DOTALL)
    return found[2] if found else text


def _number(pattern: str, log: str) -> int | None:
    """The last one: the assembler speaks last."""
    found = re.findall(pattern, log)
    return int(found[-1]) if found else None


def _first_line(function: Any) -> int:
    """The line of `def`, from which the compiler counts."""
    lines, first = inspect.getsourcelines(function.fn)
    return first + next(number for number, line in enumerate(lines) if line.lstrip().startswith("def "))


def _check_attributes(source: str) -> None:
    """Names with an underscore lead out of the language, into Python. Raises `_Refused`."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef) and any("jit" in ast.unparse(d) for d in node.decorator_list):
            for inner in ast.walk(node):
                if isinstance(inner, ast.Attribute) and inner.attr.startswith("_"):
                    raise _Refused(f"{inner.attr!r} is no name of the language", inner.lineno)


def _language(triton: Any) -> Language:
    """Triton as a file sees it: what the language offers, and no way from there to Python's own modules."""
    modules = {name: module for name in MODULES if (module := _facade(name)) is not None}
    for name, module in modules.items():
        above, _, last = name.rpartition(".")
        if above:
            setattr(modules[above], last, module)
    return Language(modules, triton.jit, triton.constexpr_function)


def _facade(name: str) -> ModuleType | None:
    try:
        real = importlib.import_module(name)
    except ImportError:
        return None
    facade = ModuleType(name)
    facade.__dict__.update({key: thing for key, thing in vars(real).items() if _offered(key, thing)})
    return facade


def _offered(name: str, thing: Any) -> bool:
    """Is this part of the language?"""
    if name.startswith("_") or isinstance(thing, ModuleType):
        return False
    kinds = {kind.__name__ for kind in type(thing).__mro__}
    of_language = isinstance(thing, type) and thing.__module__.startswith("triton.language")
    return (
        bool(kinds & {"JITCallable", "JITFunction", "ConstexprFunction", "dtype", "constexpr"})
        or getattr(thing, "__triton_builtin__", False) is True
        or of_language
    )


def _guard(language: Language) -> None:
    """`getattr` in a kernel gives names of the language only, and library functions come without their module."""
    generator: Any = importlib.import_module("triton.compiler.code_generator").CodeGenerator
    generator.builtin_namespace["getattr"] = _getattr
    backend: Any = importlib.import_module("triton.backends.nvidia.compiler").CUDABackend
    library = language.modules.get("triton.language.extra.cuda.libdevice")
    mapped = {"triton.language.extra.libdevice": library} if library is not None else {}
    backend.get_module_map = lambda self: dict(mapped)


def _getattr(thing: Any, name: Any, *default: Any) -> Any:
    name = getattr(name, "value", name)
    if not isinstance(name, str) or name.startswith("_"):
        raise AttributeError(f"{name!r} is no name of the language")
    return getattr(thing, name, *default)
