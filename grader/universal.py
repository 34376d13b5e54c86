"""Faults that every suite must refuse, made from the reference alone: no kernel is needed to see whether data
shows them.

Each takes a call and the reference function, and gives the outputs a kernel with that fault would return, or
``None`` when the fault makes no sense for this call. Faults of an algorithm (no rescale, a mask aligned
wrongly, …) can't be made from values; the gate asks for a mutant of that name instead, see `ALGORITHMIC`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from grader.kit import Argument, Ask, Case, Output, Placed, Values, decode, rounded
from grader.suite import plain_value

Function = Callable[..., object]
Fault = Callable[[Case, Ask, Function, int | None], tuple[Values, ...] | None]

# These err in every element, so a suite that refuses them in a few cases only has a slack tolerance in the others.
EVERYWHERE = frozenset({"half_arithmetic", "wrong_scale"})

ALGORITHMIC = ("no_max_subtraction", "no_rescale", "transposed_head_map", "top_left_alignment")


def run(function: Function, args: tuple[object, ...]) -> tuple[Values, ...]:
    """The function's results as float64 arrays; overflow and 0/0 are part of what is looked at."""
    with np.errstate(all="ignore"):
        result = function(*args)
    return tuple(
        np.asarray(part, dtype=np.float64) for part in (result if isinstance(result, tuple) else (result,))
    )


def _right(ask: Ask, function: Function) -> tuple[Values, ...]:
    return run(function, tuple(plain_value(argument) for argument in ask.args))


def zeros(case: Case, ask: Ask, function: Function, block: int | None) -> tuple[Values, ...] | None:
    return tuple(np.zeros(output.shape) for output in ask.outputs if isinstance(output, Output))


def input_copy(case: Case, ask: Ask, function: Function, block: int | None) -> tuple[Values, ...] | None:
    arrays = [argument.values for argument in ask.args if isinstance(argument, Placed)]
    outputs = [output for output in ask.outputs if isinstance(output, Output)]
    copies = [next((a for a in arrays if a.shape == output.shape), None) for output in outputs]
    return None if any(copy is None for copy in copies) else tuple(copy for copy in copies if copy is not None)


def mean_over_axis(case: Case, ask: Ask, function: Function, block: int | None) -> tuple[Values, ...] | None:
    right = _right(ask, function)
    if any(values.ndim == 0 for values in right):
        return None
    return tuple(np.broadcast_to(values.mean(axis=-1, keepdims=True), values.shape) for values in right)


def wrong_scale(case: Case, ask: Ask, function: Function, block: int | None) -> tuple[Values, ...] | None:
    """The first array comes in 1/16 too large."""
    return _with_first(ask, function, lambda placed: placed.values * (1 + 1 / 16))


def half_arithmetic(case: Case, ask: Ask, function: Function, block: int | None) -> tuple[Values, ...] | None:
    """The whole reference in fp16; only meaningful where the drill's type is wider."""
    if case.dtype in ("fp16", "bf16") or not any(isinstance(argument, Placed) for argument in ask.args):
        return None
    with np.errstate(all="ignore"):
        return run(function, tuple(_halved(argument) for argument in ask.args))


def first_row_only(case: Case, ask: Ask, function: Function, block: int | None) -> tuple[Values, ...] | None:
    right = _right(ask, function)
    if any(values.ndim < 2 or values.shape[0] < 2 for values in right):
        return None
    kept = []
    for values in right:
        short = np.zeros_like(values)
        short[0] = values[0]
        kept.append(short)
    return tuple(kept)


def contiguous_assumed(case: Case, ask: Ask, function: Function, block: int | None) -> tuple[Values, ...] | None:
    """Reads the storage as if the first array were dense."""

    def dense(placed: Placed) -> Values:
        flat = decode(placed.storage, placed.dtype)[placed.offset :]
        size = int(np.prod(placed.shape))
        return np.resize(np.append(flat, np.full(max(0, size - flat.size), np.nan))[:size], placed.shape)

    return _with_first(ask, function, dense)


def first_tile_only(case: Case, ask: Ask, function: Function, block: int | None) -> tuple[Values, ...] | None:
    """Everything past the first tile is left at zero."""
    return None if block is None else _cropped(ask, function, block)


def last_tile_dropped(case: Case, ask: Ask, function: Function, block: int | None) -> tuple[Values, ...] | None:
    """A partial last tile is not seen at all."""
    length = _length(ask)
    if block is None or length is None or length % block == 0 or length < block:
        return None
    return _cropped(ask, function, length // block * block)


def phantom_zero(case: Case, ask: Ask, function: Function, block: int | None) -> tuple[Values, ...] | None:
    """The last tile is filled up with zeros that count."""
    return _padded(ask, function, block, 0.0)


def missing_guard(case: Case, ask: Ask, function: Function, block: int | None) -> tuple[Values, ...] | None:
    """The last tile is filled up with what lies behind the row: poison."""
    return _padded(ask, function, block, np.nan)


VALUES: dict[str, Fault] = {
    fault.__name__: fault
    for fault in (
        zeros,
        input_copy,
        mean_over_axis,
        wrong_scale,
        half_arithmetic,
        first_row_only,
        contiguous_assumed,
        first_tile_only,
        last_tile_dropped,
        phantom_zero,
        missing_guard,
    )
}


def _with_first(ask: Ask, function: Function, change: Callable[[Placed], Values]) -> tuple[Values, ...] | None:
    """The function with its first array argument changed; ``None`` when there is none."""
    position = next((i for i, argument in enumerate(ask.args) if isinstance(argument, Placed)), None)
    if position is None:
        return None
    args = [plain_value(argument) for argument in ask.args]
    first = ask.args[position]
    if isinstance(first, Placed):
        args[position] = change(first)
    return run(function, tuple(args))


def _halved(argument: Argument) -> object:
    if not isinstance(argument, Placed):
        return argument
    return rounded(argument.values, "fp16").astype(np.float16)


def _length(ask: Ask) -> int | None:
    """The length of the tiled axis, where a call has one array in and one out of the same shape."""
    arrays = [argument for argument in ask.args if isinstance(argument, Placed)]
    tiled = [output for output in ask.outputs if isinstance(output, Output) and output.tiled_axis is not None]
    if len(arrays) != 1 or len(tiled) != 1 or len(ask.outputs) != 1 or arrays[0].shape != tiled[0].shape:
        return None
    return tiled[0].shape[tiled[0].tiled_axis or 0] if tiled[0].tiled_axis == len(tiled[0].shape) - 1 else None


def _cropped(ask: Ask, function: Function, kept: int) -> tuple[Values, ...] | None:
    length = _length(ask)
    if length is None or length <= kept:
        return None
    (right,) = _with_first(ask, function, lambda placed: placed.values[..., :kept]) or (np.zeros(0),)
    return (np.concatenate([right, np.zeros((*right.shape[:-1], length - kept))], axis=-1),)


def _padded(ask: Ask, function: Function, block: int | None, value: float) -> tuple[Values, ...] | None:
    length = _length(ask)
    if block is None or length is None or length % block == 0:
        return None
    extra = -length % block

    def pad(placed: Placed) -> Values:
        wide = np.full((*placed.shape[:-1], extra), value)
        return np.concatenate([placed.values, wide], axis=-1)

    (result,) = _with_first(ask, function, pad) or (np.zeros(0),)
    return (result[..., :length],)
