"""What `x.name` means for a value x of a kernel: attributes, and methods that are functions of the language."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import BuiltinFunctionType, FunctionType
from typing import Any

from grader.interpreter import access, atomics, blocks, casting, elementary, logic, reduce, shapes, sorting
from grader.interpreter.blocks import BlockPointer
from grader.interpreter.descriptors import Descriptor
from grader.interpreter.dtypes import DType
from grader.interpreter.errors import Rejected
from grader.interpreter.run import Run
from grader.interpreter.scope import Builtin, ConstexprFunction
from grader.interpreter.value import Shape, Value

METHODS: dict[str, Callable[..., Any]] = {
    "to": casting.cast,
    "cast": casting.cast,
    "load": access.load,
    "store": access.store,
    "advance": blocks.advance,
    **{
        name: getattr(module, name)
        for module, names in (
            (reduce, "sum max min argmax argmin xor_sum reduce_or reduce associative_scan cumsum cumprod softmax"),
            (reduce, "histogram"),
            (shapes, "reshape view permute trans expand_dims broadcast_to ravel split flip gather item"),
            (elementary, "exp exp2 log log2 sqrt sqrt_rn rsqrt abs sin cos floor ceil erf sigmoid cdiv"),
            (sorting, "sort"),
        )
        for name in names.split()
    },
    **{f"atomic_{name}": atomics.atomic(name) for name in ("add", "max", "min", "and", "or", "xor", "xchg")},
    "atomic_cas": atomics.atomic_cas,
    "logical_and": logic.logical_and,
    "logical_or": logic.logical_or,
}
_FUNCTIONS = (Builtin, ConstexprFunction, FunctionType, BuiltinFunctionType)  # a kernel calls them, no more


@dataclass(frozen=True)
class TypeOf:
    """x.type: the element type together with the shape."""

    scalar: DType
    shape: Shape

    @property
    def element_ty(self) -> DType:
        return self.scalar if self.shape else self.scalar.element_ty

    def is_block(self) -> bool:
        return self.shape != ()

    def is_ptr(self) -> bool:
        return self.shape == () and self.scalar.is_ptr()

    def get_block_shapes(self) -> Shape:
        return self.shape

    def __getattr__(self, name: str) -> Any:
        return getattr(self.scalar, name)


def keep_out(owner: Any, name: str) -> None:
    """A kernel calls functions and looks no further into them: behind their attributes lies all of Python."""
    from grader.interpreter.jit import Function

    if name.startswith("_") or isinstance(owner, (*_FUNCTIONS, Function)):
        raise Rejected(f"{owner!r} has no attribute {name!r} in a Triton kernel")


def member(run: Run, owner: Any, name: str) -> Any:
    """The attribute `name` of a value at run time."""
    if isinstance(owner, Value):
        return _of_value(run, owner, name)
    if name == "value":
        return owner  # a constant is its own value here
    keep_out(owner, name)
    if isinstance(owner, BlockPointer | Descriptor) and name not in ("dtype", "shape", "block_shape", "strides"):
        raise Rejected(f"a block pointer or descriptor has no attribute {name!r}")
    try:
        return getattr(owner, name)
    except AttributeError:
        raise Rejected(f"{owner!r} has no attribute {name!r}") from None


def _of_value(run: Run, value: Value, name: str) -> Any:
    if name == "shape":
        return value.shape
    if name == "dtype":
        return value.dtype
    if name == "type":
        return TypeOf(value.dtype, value.shape)
    if name == "numel":
        return value.numel
    if name == "T":
        return shapes.permute(run, value, 1, 0)
    if name in METHODS:
        raise Rejected(f"the method {name!r} must be called")
    raise Rejected(f"{value!r} has no attribute {name!r}")
