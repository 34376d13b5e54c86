"""Tensor descriptors: tl.make_tensor_descriptor in a kernel, TensorDescriptor arguments from the host."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from grader.interpreter.access import load, store
from grader.interpreter.atomics import rmw
from grader.interpreter.blocks import BlockPointer
from grader.interpreter.casting import cast
from grader.interpreter.dtypes import DType, int32, int64
from grader.interpreter.errors import Fault, Rejected
from grader.interpreter.run import Run
from grader.interpreter.shapes import as_shape, expand_dims, shape_of
from grader.interpreter.value import Shape, Value, is_number, scalar, value_of

LEAST_BYTES = 16  # what the hardware copies at least, and the alignment that it asks for


@dataclass(frozen=True)
class Descriptor:
    """A tensor whose tiles are loaded and stored whole; lanes outside read as zero or NaN and are not written."""

    tensor: BlockPointer  # its offsets are unused
    fill: str

    @property
    def dtype(self) -> DType:
        return self.tensor.dtype

    @property
    def block_shape(self) -> Shape:
        return self.tensor.block

    @property
    def shape(self) -> tuple[Value, ...]:
        return self.tensor.extent

    @property
    def strides(self) -> tuple[Value, ...]:
        return self.tensor.strides

    def map(self, change: Callable[[Value], Value]) -> Descriptor:
        return replace(self, tensor=self.tensor.map(change))

    def scalars(self) -> tuple[Value, ...]:
        return self.tensor.scalars()

    def with_scalars(self, scalars: Iterable[Value]) -> Descriptor:
        return replace(self, tensor=self.tensor.with_scalars(scalars))

    def at(self, run: Run, offsets: Any) -> tuple[Value, Value]:
        """Pointers and mask of the tile at `offsets`."""
        if len(offsets) != len(self.block_shape):
            raise Rejected(
                f"a descriptor of {len(self.block_shape)} axes takes as many offsets, got {len(offsets)}"
            )
        places = tuple(cast(run, offset, int64) for offset in offsets)
        last = places[-1].data * self.dtype.itemsize
        if (last % LEAST_BYTES).any():
            raise Fault(f"a descriptor's last offset must be a multiple of {LEAST_BYTES} bytes")
        pointer, mask = replace(self.tensor, offsets=places).pointers(run, range(len(self.block_shape)))
        assert mask is not None
        return pointer, mask


def make_tensor_descriptor(
    run: Run, base: Any, shape: Any, strides: Any, block_shape: Any, padding_option: Any = "zero"
) -> Descriptor:
    pointer = value_of(base)
    block = shape_of(block_shape)
    if pointer.dtype.kind != "p":
        raise Rejected(f"tl.make_tensor_descriptor: the base must be a pointer, got {pointer}")
    if not len(shape) == len(strides) == len(block) or not 1 <= len(block) <= 5:
        raise Rejected("tl.make_tensor_descriptor: shape, strides and block_shape need equal length, 1 to 5")
    bytes_a_row = block[-1] * pointer.dtype.element_ty.itemsize
    if bytes_a_row < LEAST_BYTES:
        raise Rejected(f"a descriptor's block needs {LEAST_BYTES} bytes in its last axis, got {bytes_a_row}")
    if padding_option not in ("zero", "nan"):
        raise Rejected(f"padding option {padding_option!r} is not supported: zero or nan")
    sizes = tuple(cast(run, cast(run, size, int32), int64) for size in shape)
    steps = tuple(cast(run, step, int64) for step in strides)
    _check_layout(pointer, steps)
    return Descriptor(BlockPointer(pointer, sizes, steps, (), block), padding_option)


def _check_layout(pointer: Value, strides: tuple[Value, ...]) -> None:
    element = pointer.dtype.element_ty.itemsize
    if (strides[-1].data != 1).any():
        raise Rejected("a descriptor's last stride must be 1")
    for stride in strides[:-1]:
        if (stride.data * element % LEAST_BYTES).any():
            raise Fault(f"a descriptor's strides must be multiples of {LEAST_BYTES} bytes")
    if pointer.memory is not None:
        start = pointer.memory.storage.key[0] + pointer.data * element
        if (start % LEAST_BYTES).any():
            raise Fault(f"a descriptor's base must be aligned to {LEAST_BYTES} bytes")


def host_descriptor(given: Any, pointer: Value) -> Descriptor:
    """The kernel's view of a TensorDescriptor made on the host."""
    extent = tuple(scalar(int(size), int64) for size in given.shape)
    strides = tuple(scalar(int(step), int64) for step in given.strides)
    return Descriptor(BlockPointer(pointer, extent, strides, (), tuple(given.block_shape)), given.padding)


def load_tensor_descriptor(run: Run, desc: Descriptor, offsets: Any, *_: Any, **__: Any) -> Value:
    pointer, mask = desc.at(run, offsets)
    return load(run, pointer, mask, float("nan") if desc.fill == "nan" else 0)


def store_tensor_descriptor(run: Run, desc: Descriptor, offsets: Any, value: Any) -> None:
    _check(desc, value)
    pointer, mask = desc.at(run, offsets)
    store(run, pointer, value, mask)


def _check(desc: Descriptor, value: Any) -> None:
    if is_number(value) or value_of(value).shape != desc.block_shape:
        raise Rejected(f"a descriptor stores tiles of {list(desc.block_shape)}, got {value!r}")


def _reduce(operation: str) -> Callable[..., None]:
    def apply(run: Run, desc: Descriptor, offsets: Any, value: Any) -> None:
        _check(desc, value)
        pointer, mask = desc.at(run, offsets)
        rmw(run, operation, pointer, cast(run, value, desc.dtype), mask)

    return apply


def gather_rows(run: Run, desc: Descriptor, x_offsets: Value, y_offset: Any) -> Value:
    """Rows `x_offsets` from column `y_offset` on; the block is (1, columns)."""
    pointer, mask = _rows_at(run, desc, x_offsets, y_offset)
    return load(run, pointer, mask, float("nan") if desc.fill == "nan" else 0)


def scatter_rows(run: Run, desc: Descriptor, value: Value, x_offsets: Value, y_offset: Any) -> None:
    pointer, mask = _rows_at(run, desc, x_offsets, y_offset)
    store(run, pointer, value, mask)


def _rows_at(run: Run, desc: Descriptor, x_offsets: Value, y_offset: Any) -> tuple[Value, Value]:
    if len(desc.block_shape) != 2 or desc.block_shape[0] != 1:
        raise Rejected(f"descriptor gather and scatter need a block of one row, got {list(desc.block_shape)}")
    if len(x_offsets.shape) != 1 or x_offsets.shape[0] < 8:
        raise Rejected(f"descriptor gather and scatter take 8 rows at least, got {list(x_offsets.shape)}")
    from grader.interpreter.arithmetic import add, mul
    from grader.interpreter.logic import bit_and, greater_equal, less

    rows = expand_dims(run, cast(run, x_offsets, int64), 1)
    width = desc.block_shape[1]
    line = Value(int64, (1, width), np.arange(width, dtype=np.int64)[None, None], interval=(0, width - 1))
    columns = add(run, cast(run, y_offset, int64), line)
    moved = add(run, mul(run, rows, desc.strides[0]), columns)
    inside = bit_and(
        run,
        bit_and(run, greater_equal(run, rows, 0), less(run, rows, desc.shape[0])),
        bit_and(run, greater_equal(run, columns, 0), less(run, columns, desc.shape[1])),
    )
    pointer = add(run, desc.tensor.base, moved)
    return pointer, as_shape(inside, pointer.shape)


METHODS: dict[str, Callable[..., Any]] = {
    "load": load_tensor_descriptor,
    "store": store_tensor_descriptor,
    "gather": gather_rows,
    "scatter": scatter_rows,
    "atomic_add": _reduce("add"),
    "atomic_min": _reduce("min"),
    "atomic_max": _reduce("max"),
    "atomic_and": _reduce("and"),
    "atomic_or": _reduce("or"),
    "atomic_xor": _reduce("xor"),
}
