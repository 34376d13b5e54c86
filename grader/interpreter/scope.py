"""Names: what a function assigns, what it reads, and what a name that is not local stands for."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import TYPE_CHECKING, Any

from grader.interpreter.dtypes import DType
from grader.interpreter.errors import Rejected, Unsupported
from grader.interpreter.logic import maximum, minimum
from grader.interpreter.run import Run
from grader.interpreter.value import Value

if TYPE_CHECKING:
    from grader.interpreter.jit import Function


def stored(nodes: Iterable[ast.AST]) -> frozenset[str]:
    """Names that these statements may assign."""
    return frozenset(
        inner.id
        for node in nodes
        for inner in ast.walk(node)
        if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store)
    )


def mentioned(nodes: Iterable[ast.AST]) -> frozenset[str]:
    return frozenset(inner.id for node in nodes for inner in ast.walk(node) if isinstance(inner, ast.Name))


class Constexpr:
    """tl.constexpr: in a kernel a plain Python object, outside a wrapper that marks a global as constant."""

    def __init__(self, value: Any) -> None:
        self.value: Any = value.value if isinstance(value, Constexpr) else value

    def __repr__(self) -> str:
        return f"constexpr[{self.value!r}]"

    def __bool__(self) -> bool:
        return bool(self.value)

    def __index__(self) -> int:
        return int(self.value)

    def __hash__(self) -> int:
        return hash(self.value)

    def __eq__(self, other: object) -> bool:
        return bool(self.value == unwrap(other))


def _operator(name: str) -> Callable[..., Any]:
    def apply(self: Constexpr, *others: Any) -> Any:
        return Constexpr(getattr(self.value, name)(*map(unwrap, others)))

    return apply


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "lshift", "rshift", "and", "or", "xor"):
    setattr(Constexpr, f"__{_name}__", _operator(f"__{_name}__"))
    setattr(Constexpr, f"__r{_name}__", _operator(f"__r{_name}__"))
for _name in ("lt", "le", "gt", "ge", "neg", "pos", "invert"):
    setattr(Constexpr, f"__{_name}__", _operator(f"__{_name}__"))


def unwrap(x: Any) -> Any:
    return x.value if isinstance(x, Constexpr) else x


class Builtin:
    """A function of the language. Inside a kernel it is called with the run in front; outside not at all."""

    def __init__(self, name: str, function: Callable[..., Any]) -> None:
        self.name = name
        self.function = function
        self.__name__ = name
        self.__doc__ = function.__doc__

    def __call__(self, *_: Any, **__: Any) -> Any:
        raise RuntimeError(f"tl.{self.name} can only be called inside a @triton.jit kernel")

    def __repr__(self) -> str:
        return f"<tl.{self.name}>"


class Missing:
    """A function of Triton's language that this evaluator does not have."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, *_: Any, **__: Any) -> Any:
        raise Unsupported(f"{self.name} is not supported on the CPU lane")


class ConstexprFunction:
    """@triton.constexpr_function: plain Python on constants, callable from kernels and from the host."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.__name__ = function.__name__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*map(unwrap, args), **{k: unwrap(v) for k, v in kwargs.items()})


# Python's own functions that a kernel may call


def _fold(pick: Callable[..., Any], of_numbers: Callable[..., Any]) -> Callable[..., Any]:
    def apply(run: Run, *args: Any, propagate_nan: Any = None) -> Any:
        if not any(isinstance(arg, Value) for arg in args):
            return of_numbers(*args)
        if len(args) < 2:
            raise Rejected("min and max need at least 2 values")
        out = args[0]
        for arg in args[1:]:
            out = pick(run, out, arg, propagate_nan)
        return out

    return apply


def _constant(function: Callable[..., Any]) -> Callable[..., Any]:
    def apply(run: Run, *args: Any) -> Any:
        if any(isinstance(arg, Value) for arg in args) and function is not len:
            raise Rejected(f"{function.__name__}() of a run-time value; use .to() to convert it")
        return function(*args)

    return apply


def _length(run: Run, x: Any) -> int:
    if isinstance(x, Value):
        if not x.shape:
            raise Rejected("len() of a scalar")
        return x.shape[0]
    return len(x)


def _attribute(run: Run, owner: Any, name: str, *default: Any) -> Any:
    from grader.interpreter.members import member

    try:
        return member(run, owner, name)
    except Rejected:
        if default:
            return default[0]
        raise


def _isinstance(run: Run, x: Any, kind: Any) -> bool:
    kinds = kind if isinstance(kind, tuple) else (kind,)
    for one in kinds:
        if not isinstance(one, type):
            raise Rejected(f"isinstance needs types, got {one!r}")
    return isinstance(x, kinds)


def _print(run: Run, *args: Any, **options: Any) -> None:
    from grader.interpreter.printing import device_print

    prefix, rest = (args[0], args[1:]) if args and isinstance(args[0], str) else ("", args)
    device_print(run, prefix, *rest, **options)


class RangeCall:
    """Marks `range` and tl.range: the statement that loops over it looks at its arguments."""

    def __init__(self, name: str, static: bool) -> None:
        self.name = name
        self.static = static

    def __repr__(self) -> str:
        return self.name


RANGE = RangeCall("range", static=False)

PYTHON: dict[str, Any] = {
    "min": Builtin("min", _fold(minimum, builtins.min)),
    "max": Builtin("max", _fold(maximum, builtins.max)),
    "len": Builtin("len", _length),
    "int": Builtin("int", _constant(int)),
    "float": Builtin("float", _constant(float)),
    "print": Builtin("print", _print),
    "range": RANGE,
    "isinstance": Builtin("isinstance", _isinstance),
    "getattr": Builtin("getattr", _attribute),
    "hasattr": Builtin("hasattr", lambda run, x, name: hasattr(x, name)),
    "list": Builtin("list", lambda run, *args: tuple(*args)),
    "tuple": Builtin("tuple", lambda run, *args: tuple(*args)),
}


class Scope:
    """The names of one function. `locals` are its parameters and whatever it assigns anywhere."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.locals = stored([function.tree]) | set(function.parameters)

    def outside(self, name: str) -> Any:
        """What a name that the function never assigns stands for."""
        names = self.function.globals
        if name in names:
            return self._admitted(name, names[name])
        if name in PYTHON:
            return PYTHON[name]
        if hasattr(builtins, name):
            return Missing(f"Python's {name}()")
        raise Rejected(f"{name!r} is not defined")

    def _admitted(self, name: str, value: Any) -> Any:
        from grader.interpreter.jit import Function

        if isinstance(value, Constexpr):
            return value.value
        known = (ModuleType, Function, Builtin, Missing, ConstexprFunction, DType, RangeCall)
        if isinstance(value, known) or value in (Constexpr,) or name in PYTHON or _named_tuple(value):
            return value
        if callable(value):
            return Missing(f"{name}(), which is not a @triton.jit function,")
        raise Rejected(
            f"{name!r} is a global variable: a kernel only sees globals that are tl.constexpr; "
            f"pass it as an argument or write {name} = tl.constexpr(…)"
        )


def _named_tuple(value: Any) -> bool:
    return isinstance(value, type) and issubclass(value, tuple) and hasattr(value, "_fields")
