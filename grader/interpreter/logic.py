"""Comparisons, bits and selection, lane by lane."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from grader.interpreter.arithmetic import aligned_parts, combine, elementwise
from grader.interpreter.casting import cast, operands
from grader.interpreter.dtypes import Array, int1
from grader.interpreter.errors import Rejected, Unsupported
from grader.interpreter.run import Run
from grader.interpreter.value import Value, align, broadcast_shape, is_number, scalar, undefined_in, value_of

# Comparisons


def comparison(operation: Callable[..., Array]) -> Callable[[Run, Any, Any], Value]:
    def compare(run: Run, a: Any, b: Any) -> Value:
        x, y, _, shape = operands(run, a, b)
        return elementwise(run, operation, x, y, int1, shape)

    return compare


less = comparison(np.less)
less_equal = comparison(np.less_equal)
greater = comparison(np.greater)
greater_equal = comparison(np.greater_equal)
equal = comparison(np.equal)
not_equal = comparison(np.not_equal)


# Bits


def _bitwise(operation: Callable[..., Array]) -> Callable[[Run, Any, Any], Value]:
    def apply(run: Run, a: Any, b: Any) -> Value:
        x, y, dtype, shape = operands(run, a, b)
        if not dtype.is_int():
            raise Rejected(f"a bit operation needs integers, got {dtype}")
        return elementwise(run, operation, x, y, dtype, shape)

    return apply


bit_or = _bitwise(np.bitwise_or)
bit_xor = _bitwise(np.bitwise_xor)
shift_left = _bitwise(np.left_shift)
shift_right = _bitwise(np.right_shift)
_and = _bitwise(np.bitwise_and)


def bit_and(run: Run, a: Any, b: Any) -> Value:
    """Bits in common. A conjunction of masks stays in parts, so that `load` can take it apart again."""
    x, y, dtype, shape = operands(run, a, b)
    if dtype is not int1:
        return _and(run, a, b)
    rank = len(shape)
    parts = combine(np.bitwise_and, aligned_parts(x, rank), aligned_parts(y, rank))
    lost = undefined_in(rank, x, y)
    if len(parts) == 1:
        return run.make(dtype, shape, parts[0], undefined=lost)
    return Value(dtype, shape, *parts, undefined=lost)


def invert(run: Run, x: Value) -> Value:
    if not x.dtype.is_int():
        raise Rejected(f"~ needs integers, got {x.dtype}")
    return run.make(x.dtype, x.shape, np.invert(x.data), undefined=x.undefined)


def logical_and(run: Run, a: Any, b: Any) -> Value:
    return bit_and(run, _truth(a), _truth(b))


def logical_or(run: Run, a: Any, b: Any) -> Value:
    return bit_or(run, _truth(a), _truth(b))


def logical_not(run: Run, a: Value) -> Value:
    return invert(run, _truth(a))


def _truth(x: Any) -> Value:
    value = scalar(bool(x)) if is_number(x) else value_of(x)
    if value.dtype is not int1:
        raise Rejected(f"and, or, not need booleans, got {value.dtype}; compare first")
    return value


# Selection


def where(run: Run, condition: Any, x: Any, y: Any) -> Value:
    chosen = cast(run, condition, int1)
    a, b, dtype, shape = operands(run, x, y)
    shape = broadcast_shape(chosen.shape, shape)
    if dtype.kind == "p" and a.memory is not b.memory:
        raise Unsupported("tl.where between pointers into two tensors")
    rank = len(shape)
    pick = align(chosen.data, len(chosen.shape), rank)
    undefined = None
    if a.undefined is not None or b.undefined is not None or chosen.undefined is not None:
        lost = [np.zeros((1,) * (rank + 1), bool) if v is None else v for v in _undefined(rank, a, b, chosen)]
        undefined = np.where(pick, lost[0], lost[1]) | lost[2]
        undefined = undefined if undefined.any() else None
    if a.dtype is dtype and pick.all():
        parts = aligned_parts(a, rank)
        return Value(dtype, shape, *parts, memory=a.memory, interval=a._interval, undefined=undefined)
    data = np.where(pick, align(a.data, len(a.shape), rank), align(b.data, len(b.shape), rank))
    return run.make(dtype, shape, data, memory=a.memory, undefined=undefined, exact=True)


def _undefined(rank: int, *values: Value) -> list[Array | None]:
    return [None if v.undefined is None else align(v.undefined, len(v.shape), rank) for v in values]


def maximum(run: Run, a: Any, b: Any, propagate_nan: Any = None) -> Value:
    """The larger one. A NaN loses against a number, unless `propagate_nan` asks for all."""
    return _extreme(run, a, b, np.maximum if propagate_nan else np.fmax)


def minimum(run: Run, a: Any, b: Any, propagate_nan: Any = None) -> Value:
    return _extreme(run, a, b, np.minimum if propagate_nan else np.fmin)


def _extreme(run: Run, a: Any, b: Any, operation: Callable[..., Array]) -> Value:
    x, y, dtype, shape = operands(run, a, b)
    if dtype.kind == "p":
        raise Rejected("minimum and maximum need numbers")
    return elementwise(run, operation, x, y, dtype, shape)


def clamp(run: Run, x: Any, min: Any, max: Any, propagate_nan: Any = None) -> Value:
    lowest = maximum(run, x, min, propagate_nan)
    if not lowest.dtype.is_floating():
        raise Rejected(f"tl.clamp takes floating point, got {lowest.dtype}")
    return minimum(run, lowest, max, propagate_nan)
