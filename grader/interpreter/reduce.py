"""Reductions and scans along one axis of a tile, or over all of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from grader.interpreter.arithmetic import fit, sub, truediv
from grader.interpreter.casting import cast
from grader.interpreter.dtypes import Array, DType, bfloat16, float32, int32, uint32
from grader.interpreter.elementary import exp
from grader.interpreter.errors import Rejected
from grader.interpreter.run import Run
from grader.interpreter.shapes import as_shape, axis_of, ravel
from grader.interpreter.undefined import report_use, spoil
from grader.interpreter.value import Shape, Value

try:
    import torch
except ImportError:  # only makes maxima slower
    torch = None  # type: ignore[assignment]

_FAST_FROM = 2048  # elements from which handing an array to torch pays


class _Axis:
    """What is reduced: the tile (flattened for axis=None), the axis, and the shape of the result."""

    def __init__(self, run: Run, tile: Value, axis: Any, keep_dims: Any) -> None:
        if not isinstance(tile, Value):
            raise Rejected(f"a reduction takes a tile, got {tile!r}")
        self.whole = axis is None
        self.tile = ravel(run, tile) if self.whole and len(tile.shape) != 1 else tile
        if not tile.shape:
            raise Rejected("a scalar cannot be reduced")
        self.axis = 0 if self.whole else axis_of(axis, len(tile.shape))
        self.place = self.axis + 1  # in the array, behind the axis of the programs
        before = tile.shape
        if self.whole:
            self.shape: Shape = (1,) * len(before) if keep_dims else ()
        else:
            self.shape = before[: self.axis] + ((1,) if keep_dims else ()) + before[self.axis + 1 :]
        self.keep = bool(keep_dims)

    def finish(self, run: Run, dtype: DType, data: Array, lost: Array | None = None) -> Value:
        """The reduced array, in the shape of the result."""
        if self.whole:
            data = data.reshape((-1, *self.shape))
        elif self.keep:
            data = np.expand_dims(data, self.place)
        if lost is not None:
            data = spoil(run, data, dtype, self._reduced(lost))
        return run.make(dtype, self.shape, data)

    def _reduced(self, lost: Array) -> Array:
        flat = lost.any(axis=self.place)
        if self.whole:
            return np.asarray(flat.reshape((-1, *self.shape)))
        return np.expand_dims(flat, self.place) if self.keep else np.asarray(flat)


def sum_type(given: DType, dtype: DType | None) -> DType:
    """Integers below 32 bits are added up in 32."""
    if dtype is not None:
        return dtype
    if given.is_int() and given.primitive_bitwidth < 32:
        return uint32 if given.is_int_unsigned() else int32
    return given


def sum(run: Run, input: Value, axis: Any = None, keep_dims: Any = False, dtype: DType | None = None) -> Value:
    along = _Axis(run, cast(run, input, sum_type(input.dtype, dtype)), axis, keep_dims)
    tile = along.tile
    lost = report_use(run, tile, "tl.sum")
    if tile.dtype.round is not None:
        data = _tree_sum(tile.full, along.place, tile.dtype.round)
    elif tile.dtype.kind == "i" and not _sum_fits(tile, along.axis):
        data = fit(run, np.asarray(np.sum(tile.full, axis=along.place, dtype=np.int64)), tile.dtype, "sum")
    else:
        data = np.sum(tile.full, axis=along.place, dtype=tile.dtype.held)
    return along.finish(run, tile.dtype, data, lost)


def _sum_fits(tile: Value, axis: int) -> bool:
    low, high = tile.interval
    count = tile.shape[axis]
    return tile.dtype.low <= low * count and high * count <= tile.dtype.high


def _tree_sum(data: Array, place: int, rounded: Callable[[Array], Array]) -> Array:
    """Halves added pairwise, every sum rounded to its narrow type."""
    data = np.moveaxis(data, place, -1)
    while data.shape[-1] > 1:
        half = data.shape[-1] // 2
        data = rounded(data[..., :half] + data[..., half:])
    return data[..., 0]


# Extremes


def _widened(run: Run, tile: Value) -> Value:
    """Maxima and minima of narrow types are taken in 32 bits."""
    if tile.dtype.primitive_bitwidth >= 32:
        return tile
    return cast(run, tile, float32 if tile.dtype.is_floating() else int32)


def max(
    run: Run,
    input: Value,
    axis: Any = None,
    return_indices: Any = False,
    return_indices_tie_break_left: Any = True,
    keep_dims: Any = False,
) -> Any:
    """The largest element. Numbers win against NaN."""
    return _extreme(run, input, axis, return_indices, return_indices_tie_break_left, keep_dims, largest=True)


def min(
    run: Run,
    input: Value,
    axis: Any = None,
    return_indices: Any = False,
    return_indices_tie_break_left: Any = True,
    keep_dims: Any = False,
) -> Any:
    return _extreme(run, input, axis, return_indices, return_indices_tie_break_left, keep_dims, largest=False)


def argmax(run: Run, input: Value, axis: Any, tie_break_left: Any = True, keep_dims: Any = False) -> Value:
    indices: Value = max(run, input, axis, True, tie_break_left, keep_dims)[1]
    return indices


def argmin(run: Run, input: Value, axis: Any, tie_break_left: Any = True, keep_dims: Any = False) -> Value:
    indices: Value = min(run, input, axis, True, tie_break_left, keep_dims)[1]
    return indices


def _extreme(
    run: Run, input: Value, axis: Any, with_index: Any, tie_left: Any, keep_dims: Any, *, largest: bool
) -> Any:
    name = "tl.max" if largest else "tl.min"
    if with_index:
        tile = cast(run, input, float32) if input.dtype is bfloat16 else input
        along = _Axis(run, tile, axis, keep_dims)
        lost = report_use(run, tile, name)
        value, index = _indexed(along.tile.full, along.place, bool(tie_left), largest)
        return along.finish(run, tile.dtype, value, lost), along.finish(run, int32, index)
    along = _Axis(run, _widened(run, input), axis, keep_dims)
    lost = report_use(run, along.tile, name)
    return along.finish(run, along.tile.dtype, _extreme_of(along.tile, along.place, largest), lost)


def _extreme_of(tile: Value, place: int, largest: bool) -> Array:
    data = tile.data if tile.data.shape[place] == tile.shape[place - 1] else tile.full
    if torch is not None and data.dtype in (np.float32, np.float64) and data.size > _FAST_FROM:
        shared = torch.from_numpy(np.ascontiguousarray(data))
        out = (torch.amax(shared, place) if largest else torch.amin(shared, place)).numpy()
    else:
        out = np.max(data, axis=place) if largest else np.min(data, axis=place)
    if out.dtype.kind == "f" and np.isnan(out).any():
        out = (np.fmax if largest else np.fmin).reduce(data, axis=place)
    return np.asarray(out)


def _indexed(data: Array, place: int, tie_left: bool, largest: bool) -> tuple[Array, Array]:
    pick = np.argmax if largest else np.argmin
    last = data.shape[place] - 1
    index = pick(data, axis=place) if tie_left else last - pick(np.flip(data, place), axis=place)
    value = np.take_along_axis(data, np.expand_dims(index, place), place)
    return np.squeeze(value, place), index.astype(np.int32)


def xor_sum(run: Run, input: Value, axis: Any = None, keep_dims: Any = False) -> Value:
    return _bits(run, input, axis, keep_dims, np.bitwise_xor, "tl.xor_sum")


def reduce_or(run: Run, input: Value, axis: Any, keep_dims: Any = False) -> Value:
    return _bits(run, input, axis, keep_dims, np.bitwise_or, "tl.reduce_or")


def _bits(run: Run, input: Value, axis: Any, keep_dims: Any, operation: np.ufunc, name: str) -> Value:
    if not input.dtype.is_int():
        raise Rejected(f"{name} only supports integers, got {input.dtype}")
    along = _Axis(run, input, axis, keep_dims)
    report_use(run, along.tile, name)
    return along.finish(run, input.dtype, operation.reduce(along.tile.full, axis=along.place))


# With a combine function of the learner's own


def _lines(tiles: list[Value], place: int) -> list[list[Value]]:
    """Per position along the axis, the slices of all tiles."""
    whole = [tile.full for tile in tiles]
    shape = tiles[0].shape[: place - 1] + tiles[0].shape[place:]
    return [
        [Value(tile.dtype, shape, data.take(i, axis=place)) for tile, data in zip(tiles, whole, strict=True)]
        for i in range(tiles[0].shape[place - 1])
    ]


def _combined(run: Run, combine: Any, carry: list[Value], line: list[Value]) -> list[Value]:
    result = combine.inline(run, [*carry, *line], {})
    parts = result if isinstance(result, tuple) else (result,)
    if len(parts) != len(carry):
        raise Rejected(f"the combine function returns {len(parts)} values, {len(carry)} are reduced")
    return [as_shape(cast(run, part, mine.dtype), mine.shape) for part, mine in zip(parts, carry, strict=True)]


def _tiles(run: Run, input: Any, name: str) -> list[Value]:
    tiles = list(input) if isinstance(input, tuple) else [input]
    for tile in tiles:
        report_use(run, tile, name)
        if tile.shape != tiles[0].shape:
            raise Rejected(f"{name}: all inputs must have one shape")
    return tiles


def reduce(run: Run, input: Any, axis: Any, combine_fn: Any, keep_dims: Any = False) -> Any:
    axes = [_Axis(run, tile, axis, keep_dims) for tile in _tiles(run, input, "tl.reduce")]
    first, *rest = _lines([along.tile for along in axes], axes[0].place)
    for line in rest:
        first = _combined(run, combine_fn, first, line)
    out = tuple(along.finish(run, value.dtype, value.full) for along, value in zip(axes, first, strict=True))
    return out if isinstance(input, tuple) else out[0]


def associative_scan(run: Run, input: Any, axis: Any, combine_fn: Any, reverse: Any = False) -> Any:
    tiles = _tiles(run, input, "tl.associative_scan")
    place = axis_of(axis, len(tiles[0].shape)) + 1
    lines = _lines(tiles, place)
    if reverse:
        lines.reverse()
    carries = [lines[0]]
    for line in lines[1:]:
        carries.append(_combined(run, combine_fn, carries[-1], line))
    if reverse:
        carries.reverse()
    out = tuple(_stacked(run, [c[i] for c in carries], place, tiles[i]) for i in range(len(tiles)))
    return out if isinstance(input, tuple) else out[0]


def _stacked(run: Run, lines: list[Value], place: int, like: Value) -> Value:
    rows = np.max([line.data.shape[0] for line in lines])
    data = np.stack([np.broadcast_to(line.data, (rows, *line.shape)) for line in lines], place)
    return run.make(like.dtype, like.shape, data)


# Running sums and products


def cumsum(run: Run, input: Value, axis: Any = 0, reverse: Any = False, dtype: DType | None = None) -> Value:
    wide = cast(run, input, float32) if input.dtype is bfloat16 else input
    return _running(run, cast(run, wide, sum_type(wide.dtype, dtype)), axis, reverse, np.cumsum)


def cumprod(run: Run, input: Value, axis: Any = 0, reverse: Any = False) -> Value:
    wide = cast(run, input, float32) if input.dtype is bfloat16 else input
    return _running(run, wide, axis, reverse, np.cumprod)


def _running(run: Run, tile: Value, axis: Any, reverse: Any, operation: Callable[..., Array]) -> Value:
    report_use(run, tile, "a scan")
    place = axis_of(axis, len(tile.shape)) + 1
    data = np.flip(tile.full, place) if reverse else tile.full
    out = operation(data, axis=place, dtype=tile.dtype.held)
    return run.make(tile.dtype, tile.shape, np.flip(out, place) if reverse else out)


def softmax(run: Run, x: Value, dim: Any = None, keep_dims: Any = False, ieee_rounding: Any = False) -> Value:
    axis = 0 if dim is None else dim
    shifted = exp(run, sub(run, x, max(run, x, axis, keep_dims=keep_dims)))
    return truediv(run, shifted, sum(run, shifted, axis, keep_dims=keep_dims))


def histogram(run: Run, input: Value, num_bins: Any, mask: Any = None) -> Value:
    if len(input.shape) != 1 or not input.dtype.is_int():
        raise Rejected("tl.histogram takes a 1D tile of integers")
    data = input.full
    counted = (data >= 0) & (data < num_bins)
    if mask is not None:
        counted = counted & cast(run, mask, int32).data.astype(bool)
    report_use(run, input, "tl.histogram", counted)
    rows = counted.shape[0]
    bins = np.arange(rows)[:, None] * num_bins + np.where(counted, data, 0)
    counts = np.bincount(bins[counted], minlength=rows * num_bins)
    return run.make(int32, (num_bins,), counts.reshape(rows, num_bins).astype(np.int32))
