"""Block pointers and tensor descriptors: a tile addressed by its offsets in a tensor of known shape and strides."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from grader.interpreter.arithmetic import add, mul
from grader.interpreter.casting import cast
from grader.interpreter.dtypes import DType, int32, int64
from grader.interpreter.errors import Rejected
from grader.interpreter.logic import bit_and, greater_equal, less
from grader.interpreter.run import Run
from grader.interpreter.shapes import as_shape, expand_dims, shape_of
from grader.interpreter.value import Shape, Value, value_of


@dataclass(frozen=True)
class BlockPointer:
    """What tl.make_block_ptr returns. `extent`, `strides`, `offsets` are scalars, one an axis."""

    base: Value
    extent: tuple[Value, ...]
    strides: tuple[Value, ...]
    offsets: tuple[Value, ...]
    block: Shape

    @property
    def dtype(self) -> DType:
        return self.base.dtype.element_ty

    @property
    def shape(self) -> Shape:
        return self.block

    def map(self, change: Callable[[Value], Value]) -> BlockPointer:
        """`change` applied to every scalar in it."""
        lists = (tuple(map(change, given)) for given in (self.extent, self.strides, self.offsets))
        extent, strides, offsets = lists
        return replace(self, base=change(self.base), extent=extent, strides=strides, offsets=offsets)

    def scalars(self) -> tuple[Value, ...]:
        return (self.base, *self.extent, *self.strides, *self.offsets)

    def with_scalars(self, scalars: Iterable[Value]) -> BlockPointer:
        base, *rest = scalars
        rank = len(self.block)
        return BlockPointer(
            base, tuple(rest[:rank]), tuple(rest[rank : 2 * rank]), tuple(rest[2 * rank :]), self.block
        )

    def advanced(self, run: Run, offsets: Any) -> BlockPointer:
        if len(offsets) != len(self.block):
            raise Rejected(f"tl.advance: {len(offsets)} offsets for {len(self.block)} axes")
        moved = (add(run, have, cast(run, by, int64)) for have, by in zip(self.offsets, offsets, strict=True))
        return replace(self, offsets=tuple(moved))

    def pointers(self, run: Run, check: Any) -> tuple[Value, Value | None]:
        """The tile's pointers, and the mask of the axes in `check`."""
        checked = _axes(check, len(self.block))
        pointer: Value = self.base
        mask: Value | None = None
        for axis, size in enumerate(self.block):
            line = np.arange(size, dtype=np.int64)[None]
            place = add(run, self.offsets[axis], Value(int64, (size,), line, interval=(0, size - 1)))
            others = [other for other in range(len(self.block)) if other != axis]
            place = expand_dims(run, place, others) if others else place
            pointer = add(run, pointer, mul(run, place, self.strides[axis]))
            if axis in checked:
                inside = bit_and(
                    run, greater_equal(run, place, 0), less(run, place, cast(run, self.extent[axis], int64))
                )
                mask = inside if mask is None else bit_and(run, mask, inside)
        return as_shape(pointer, self.block), mask

    def padding(self, option: Any) -> float | int | None:
        """What lanes outside hold: None when the kernel does not say."""
        if option == "nan":
            if not self.dtype.is_floating():
                raise Rejected("padding_option 'nan' is not supported for integers")
            return float("nan")
        if option not in ("", "zero", None):
            raise Rejected(f"padding option {option!r} is not supported: zero or nan")
        return 0 if option == "zero" else None

    def check_value(self, value: Value) -> None:
        if value.shape not in ((), self.block) or value.dtype != self.dtype:
            raise Rejected(
                f"tl.store through a block pointer of {self.dtype}{list(self.block)}: the value is {value}"
            )


def _axes(check: Any, rank: int) -> set[int]:
    axes = list(check) if isinstance(check, tuple | list | range) else [check]
    for axis in axes:
        if not isinstance(axis, int) or not 0 <= axis < rank:
            raise Rejected(f"boundary_check: no axis {axis!r} in a block of {rank} axes")
    return set(axes)


def make_block_ptr(
    run: Run, base: Any, shape: Any, strides: Any, offsets: Any, block_shape: Any, order: Any
) -> BlockPointer:
    pointer = value_of(base)
    if pointer.dtype.kind != "p" or pointer.shape:
        raise Rejected(f"tl.make_block_ptr: the base must be a pointer, got {pointer}")
    block = shape_of(block_shape)
    for name, given in (("shape", shape), ("strides", strides), ("offsets", offsets), ("order", order)):
        if len(given) != len(block):
            raise Rejected(f"tl.make_block_ptr: {name} has {len(given)} entries, the block {len(block)}")
    if sorted(order) != list(range(len(block))):
        raise Rejected(f"tl.make_block_ptr: order must be a permutation of the axes, got {order}")
    wide = [tuple(cast(run, x, int64) for x in given) for given in (shape, strides)]
    return BlockPointer(pointer, wide[0], wide[1], tuple(_offset(run, x) for x in offsets), block)


def _offset(run: Run, x: Any) -> Value:
    value = value_of(x)
    if value.dtype is int64 and isinstance(x, Value):
        raise Rejected("block pointers take 32 bit offsets; add .to(tl.int32)")
    return cast(run, cast(run, value, int32), int64)


def advance(run: Run, base: Any, offsets: Any) -> BlockPointer:
    if not isinstance(base, BlockPointer):
        raise Rejected(f"tl.advance takes a block pointer, got {base!r}")
    return base.advanced(run, offsets)
