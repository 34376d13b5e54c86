"""Making tiles and changing their shape: arange, full, broadcast, reshape, permute, join, split, gather, …"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from grader.interpreter.casting import cast, operands
from grader.interpreter.dtypes import Array, DType, int32
from grader.interpreter.errors import Fault, Rejected
from grader.interpreter.run import Run
from grader.interpreter.value import Shape, Value, align, broadcast_shape, scalar, value_of

LARGEST_TILE = 1_048_576  # elements; the compiler's own limit


def shape_of(shape: Any) -> Shape:
    """A tile shape as given to tl.full, tl.reshape, …: powers of two, known when the kernel is compiled."""
    sizes = tuple(shape) if isinstance(shape, tuple | list) else (shape,)
    for size in sizes:
        if isinstance(size, Value) or not isinstance(size, int | np.integer):
            raise Rejected(f"a tile's shape must be tl.constexpr integers, got {size!r}")
        if size < 1 or size & (size - 1):
            raise Rejected(f"a tile's sizes must be powers of 2, got {size}")
    if math.prod(sizes) > LARGEST_TILE:
        raise Rejected(f"a tile of {math.prod(sizes)} elements is over the limit of {LARGEST_TILE}")
    return tuple(int(size) for size in sizes)


def _spread(sizes: tuple[Any, ...]) -> Any:
    """tl.f(x, 4, 8) and tl.f(x, (4, 8)) are the same."""
    return sizes[0] if len(sizes) == 1 else sizes


def axis_of(axis: Any, rank: int) -> int:
    if not isinstance(axis, int) or not -rank <= axis < rank:
        raise Rejected(f"axis {axis!r} is out of range for {rank} axes")
    return int(axis) % rank


# Making


def program_id(run: Run, axis: Any) -> Value:
    return Value(int32, (), run.programs.ids[_grid_axis(axis)])


def num_programs(run: Run, axis: Any) -> Value:
    return scalar(run.grid[_grid_axis(axis)], int32)


def _grid_axis(axis: Any) -> int:
    if axis not in (0, 1, 2):
        raise Rejected(f"a grid has axes 0, 1 and 2, got {axis!r}")
    return int(axis)


def arange(run: Run, start: Any, end: Any) -> Value:
    if isinstance(start, Value) or isinstance(end, Value):
        raise Rejected("arange's arguments must be of type tl.constexpr")
    length = end - start
    if length <= 0 or length & (length - 1):
        raise Rejected(f"arange({start}, {end}): the length must be a power of 2")
    return Value(int32, (length,), np.arange(start, end, dtype=np.int32)[None], interval=(start, end - 1))


def full(run: Run, shape: Any, value: Any, dtype: DType) -> Value:
    sizes = shape_of(shape)
    filled = cast(run, value, dtype) if isinstance(value, Value) else scalar(value, dtype)
    if filled.numel != 1:
        raise Rejected(f"tl.full takes one value, got {filled}")
    return Value(dtype, sizes, filled.data.reshape((-1,) + (1,) * len(sizes)), interval=filled._interval)


def zeros(run: Run, shape: Any, dtype: DType) -> Value:
    return full(run, shape, 0, dtype)


def zeros_like(run: Run, input: Value) -> Value:
    return full(run, input.shape, 0, input.dtype)


# Broadcasting


def _reshaped(value: Value, shape: Shape, change: Callable[[Array], Array]) -> Value:
    """A value whose parts are all changed in the same way, without touching an element."""
    lost = None if value.undefined is None else change(value.undefined)
    parts = (change(part) for part in value.parts)
    return Value(value.dtype, shape, *parts, memory=value.memory, interval=value._interval, undefined=lost)


def expand_dims(run: Run, input: Any, axis: Any) -> Value:
    value = value_of(input)
    axes = list(axis) if isinstance(axis, tuple | list) else [axis]
    rank = len(value.shape) + len(axes)
    return with_new_axes(value, tuple(sorted(axis_of(a, rank) for a in axes)))


def with_new_axes(value: Value, axes: tuple[int, ...]) -> Value:
    """`value` with axes of size 1 at these places of the result, in order."""
    shape, index = _with_axes(value.shape, axes)
    return _reshaped(value, shape, lambda part: part[index])


@lru_cache(maxsize=1024)
def _with_axes(shape: Shape, axes: tuple[int, ...]) -> tuple[Shape, tuple[slice | None, ...]]:
    """The shape with the new axes, and the index that gives them to an array of a batch."""
    longer = list(shape)
    for axis in axes:
        longer.insert(axis, 1)
    new = {axis + 1 for axis in axes}
    return tuple(longer), tuple(None if place in new else slice(None) for place in range(len(longer) + 1))


def broadcast_to(run: Run, input: Any, *shape: Any) -> Value:
    value, sizes = value_of(input), shape_of(_spread(shape))
    if value.shape and len(value.shape) != len(sizes):
        raise Rejected(f"cannot broadcast {list(value.shape)} to {list(sizes)}: the ranks differ")
    if broadcast_shape(sizes, value.shape) != sizes:
        raise Rejected(f"cannot broadcast {list(value.shape)} to {list(sizes)}")
    return _reshaped(value, sizes, lambda part: align(part, len(value.shape), len(sizes)))


def broadcast(run: Run, input: Any, other: Any) -> tuple[Value, Value]:
    a, b = value_of(input), value_of(other)
    shape = broadcast_shape(a.shape, b.shape)
    return as_shape(a, shape), as_shape(b, shape)


def as_shape(value: Value, shape: Shape) -> Value:
    """`value` seen in a shape that it broadcasts to."""
    if value.shape == shape:
        return value
    return _reshaped(value, shape, lambda part: align(part, len(value.shape), len(shape)))


# Rearranging


def reshape(run: Run, input: Any, *shape: Any, can_reorder: bool = False) -> Value:
    value, sizes = value_of(input), shape_of(_spread(shape))
    if math.prod(sizes) != value.numel:
        raise Rejected(f"reshape from {list(value.shape)} to {list(sizes)} changes the number of elements")
    data = value.full
    lost = None if value.undefined is None else _all(value, value.undefined).reshape((-1, *sizes))
    return Value(
        value.dtype,
        sizes,
        data.reshape((data.shape[0], *sizes)),
        memory=value.memory,
        interval=value._interval,
        undefined=lost,
    )


view = reshape


def _all(value: Value, lanes: Array) -> Array:
    return np.broadcast_to(lanes, (lanes.shape[0], *value.shape))


def ravel(run: Run, x: Value, can_reorder: bool = False) -> Value:
    return reshape(run, x, x.numel)


def item(run: Run, input: Value) -> Value:
    if input.numel != 1:
        raise Rejected(f"only a tile of one element becomes a scalar, got {input}")
    return _reshaped(input, (), lambda part: part.reshape(-1))


def squeeze(run: Run, x: Value, dim: Any) -> Value:
    place = axis_of(dim, len(x.shape))
    if x.shape[place] != 1:
        raise Rejected(f"cannot squeeze axis {dim} of {list(x.shape)}: its size is not 1")
    return reshape(run, x, x.shape[:place] + x.shape[place + 1 :])


def unsqueeze(run: Run, x: Value, dim: Any) -> Value:
    return reshape(run, x, (*x.shape[:dim], 1, *x.shape[dim:]))


def permute(run: Run, input: Value, *dims: Any) -> Value:
    order = tuple(_spread(dims))
    if sorted(order) != list(range(len(input.shape))):
        raise Rejected(f"permute needs every axis of {list(input.shape)} once, got {list(order)}")
    axes = (0, *(axis + 1 for axis in order))
    return _reshaped(input, tuple(input.shape[axis] for axis in order), lambda part: part.transpose(axes))


def trans(run: Run, input: Value, *dims: Any) -> Value:
    rank = len(input.shape)
    if rank < 2:
        raise Rejected("tl.trans needs at least two axes")
    return permute(run, input, *(dims or (*range(rank - 2), rank - 1, rank - 2)))


def _rows(*values: Value) -> int:
    return int(max(value.data.shape[0] for value in values))


def _stretched(value: Value, rows: int) -> Array:
    return np.broadcast_to(value.data, (rows, *value.shape))


def _lost(*values: Value) -> list[Array] | None:
    """Undefined lanes of each, or None when no operand has any."""
    if all(value.undefined is None for value in values):
        return None
    rows = max(1 if value.undefined is None else value.undefined.shape[0] for value in values)
    return [
        np.zeros((rows, *value.shape), bool)
        if value.undefined is None
        else np.broadcast_to(value.undefined, (rows, *value.shape))
        for value in values
    ]


def join(run: Run, a: Any, b: Any) -> Value:
    x, y, dtype, shape = operands(run, a, b)
    x, y = as_shape(x, shape), as_shape(y, shape)
    rows = _rows(x, y)
    lost = _lost(x, y)
    return run.make(
        dtype,
        (*shape, 2),
        np.stack([_stretched(x, rows), _stretched(y, rows)], -1),
        undefined=None if lost is None else np.stack(lost, -1),
        exact=True,
    )


def split(run: Run, a: Value) -> tuple[Value, Value]:
    if not a.shape or a.shape[-1] != 2:
        raise Rejected(f"tl.split needs a last axis of size 2, got {list(a.shape)}")
    data = a.full
    lost = None if a.undefined is None else _all(a, a.undefined)
    first, second = (
        Value(a.dtype, a.shape[:-1], data[..., i], undefined=None if lost is None else lost[..., i]) for i in (0, 1)
    )
    return first, second


def interleave(run: Run, a: Any, b: Any) -> Value:
    joined = join(run, a, b)
    if len(joined.shape) == 1:
        return joined
    return reshape(run, joined, (*joined.shape[:-2], 2 * joined.shape[-2]))


def cat(run: Run, input: Value, other: Value, can_reorder: bool = False, dim: Any = 0) -> Value:
    if input.dtype is not other.dtype or len(input.shape) != len(other.shape):
        raise Rejected(f"tl.cat needs two tiles of one type and rank, got {input} and {other}")
    axis = axis_of(dim, len(input.shape))
    rows = _rows(input, other)
    lost = _lost(input, other)
    data = np.concatenate([_stretched(input, rows), _stretched(other, rows)], axis + 1)
    undefined = None if lost is None else np.concatenate(lost, axis + 1)
    return run.make(input.dtype, data.shape[1:], data, undefined=undefined, exact=True)


def flip(run: Run, x: Value, dim: Any = None) -> Value:
    axis = axis_of(len(x.shape) - 1 if dim is None else dim, len(x.shape))
    lost = None if x.undefined is None else np.flip(_all(x, x.undefined), axis + 1)
    return Value(x.dtype, x.shape, np.flip(x.full, axis + 1), undefined=lost)


def gather(run: Run, src: Value, index: Value, axis: Any) -> Value:
    if not index.dtype.is_int() or len(index.shape) != len(src.shape):
        raise Rejected("tl.gather needs an integer index of the source's rank")
    place = axis_of(axis, len(src.shape))
    if index.interval[0] < 0 or index.interval[1] >= src.shape[place]:
        low, high = index.interval
        raise Fault(f"tl.gather: indices {low} to {high}, the axis has {src.shape[place]} elements")
    rows = _rows(src, index)
    chosen = _stretched(index, rows)
    lost = None
    if src.undefined is not None:
        lost = np.take_along_axis(np.broadcast_to(src.undefined, (rows, *src.shape)), chosen, place + 1)
    data = np.take_along_axis(_stretched(src, rows), chosen, place + 1)
    return run.make(src.dtype, index.shape, data, undefined=lost, exact=True)
