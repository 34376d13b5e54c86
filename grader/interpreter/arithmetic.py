"""Sums, products and quotients of two operands.

Signed integer results that do not fit their type wrap around, as on a GPU, and are reported with the exact value.
Bounds of integers are carried along, so the check costs nothing unless a bound leaves the type.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from grader.interpreter.casting import cast, operands
from grader.interpreter.dtypes import Array, DType, float32, int1
from grader.interpreter.errors import Fault, Rejected
from grader.interpreter.run import Run
from grader.interpreter.value import (
    Interval,
    Shape,
    Value,
    align,
    broadcast_shape,
    covers,
    scalar,
    undefined_in,
    value_of,
)


def elementwise(run: Run, operation: Callable[..., Array], a: Value, b: Value, dtype: DType, shape: Shape) -> Value:
    """`operation` on the aligned data of both."""
    rank = len(shape)
    lost = undefined_in(rank, a, b)
    return run.make(
        dtype,
        shape,
        operation(align(a.data, len(a.shape), rank), align(b.data, len(b.shape), rank)),
        undefined=lost,
    )


def aligned_parts(value: Value, rank: int) -> list[Array]:
    own = len(value.shape)
    return [align(part, own, rank) for part in value.parts]


def combine(ufunc: Callable[..., Array], ours: list[Array], theirs: list[Array]) -> list[Array]:
    """Two lists of parts as one, joining parts where that does not make either larger."""
    out = list(ours)
    for part in theirs:
        for i, have in enumerate(out):
            if covers(have, part) or covers(part, have):
                out[i] = ufunc(have, part)
                break
        else:
            out.append(part)
    return out


# Integer wrap


def fit(run: Run, exact: Array, dtype: DType, operation: str) -> Array:
    """An exact 64-bit result in `dtype`. Unsigned wrap is taken as meant: hashes and random numbers rely on it."""
    wrapped = exact.astype(dtype.held)
    if dtype.kind == "i":
        bad = wrapped != exact
        if bad.any():
            where = np.unravel_index(int(bad.argmax()), bad.shape)
            run.note(
                "integer-wrap",
                f"{dtype} {operation} wraps around: the exact value is {int(exact[where])}, "
                f"the kernel goes on with {int(wrapped[where])}",
                row=int(where[0]) if exact.shape[0] > 1 else 0,
                lane=tuple(int(i) for i in where[1:]),
            )
    return wrapped


def checked_sum(run: Run, value: Value) -> Value:
    """A lazy sum whose total provably fits its type, or the wrapped total."""
    low, high = value.interval
    if not value.lazy or value.dtype.kind not in "iu" or (value.dtype.low <= low and high <= value.dtype.high):
        return value
    exact = sum((part.astype(np.int64) for part in value.parts[1:]), value.parts[0].astype(np.int64))
    return Value(value.dtype, value.shape, fit(run, exact, value.dtype, "addition"), undefined=value.undefined)


# + - *


def add(run: Run, a: Any, b: Any, sanitize_overflow: bool = True) -> Value:
    if isinstance(b, Value) and b.dtype.kind == "p":
        a, b = b, a
    if isinstance(a, Value) and a.dtype.kind == "p":
        return _move_pointer(run, a, b, negate=False)
    return _sum(run, a, b, negate=False)


def sub(run: Run, a: Any, b: Any, sanitize_overflow: bool = True) -> Value:
    if isinstance(a, Value) and a.dtype.kind == "p":
        return _move_pointer(run, a, b, negate=True)
    return _sum(run, a, b, negate=True)


def _move_pointer(run: Run, pointer: Value, offset: Any, *, negate: bool) -> Value:
    step = value_of(offset)
    if not step.dtype.is_int():
        raise Rejected(f"cannot add {step.dtype} to {pointer.dtype}")
    step = checked_sum(run, step)
    shape = broadcast_shape(pointer.shape, step.shape)
    rank = len(shape)
    moves = [part.astype(np.int64) for part in aligned_parts(step, rank)]
    if negate:
        moves = [-part for part in moves]
    parts = combine(np.add, aligned_parts(pointer, rank), moves)
    lost = undefined_in(rank, pointer, step)
    return Value(pointer.dtype, shape, *parts, memory=pointer.memory, undefined=lost)


def _sum(run: Run, a: Any, b: Any, *, negate: bool) -> Value:
    x, y, dtype, shape = operands(run, a, b)
    if dtype.kind in "iu":
        return _integer_sum(run, x, y, dtype, shape, negate)
    if dtype.kind == "p":
        raise Rejected("cannot add or subtract pointers")
    if dtype is int1:
        return elementwise(run, np.logical_xor, x, y, dtype, shape)  # one bit, modulo two
    return elementwise(run, np.subtract if negate else np.add, x, y, dtype, shape)


def _integer_sum(run: Run, a: Value, b: Value, dtype: DType, shape: Shape, negate: bool) -> Value:
    rank = len(shape)
    ours, theirs = aligned_parts(a, rank), aligned_parts(b, rank)
    (low_a, high_a), (low_b, high_b) = a.interval, b.interval
    bounds: Interval | None = (low_a - high_b, high_a - low_b) if negate else (low_a + low_b, high_a + high_b)
    if bounds is None or not (dtype.low <= bounds[0] and bounds[1] <= dtype.high):
        if dtype.kind == "i" and dtype.primitive_bitwidth < 64:
            x, y = (align(v.data, len(v.shape), rank).astype(np.int64) for v in (a, b))
            exact, word = (x - y, "subtraction") if negate else (x + y, "addition")
            return run.make(dtype, shape, fit(run, exact, dtype, word), undefined=undefined_in(rank, a, b))
        bounds = None  # parts of an unsigned sum wrap one by one and still give the right total
    if negate:
        theirs = [np.negative(part) for part in theirs]
    parts = combine(np.add, ours, theirs)
    lost = undefined_in(rank, a, b)
    if len(parts) == 1:
        return run.make(dtype, shape, parts[0], interval=bounds, undefined=lost)
    return Value(dtype, shape, *parts, interval=bounds, undefined=lost)


def mul(run: Run, a: Any, b: Any, sanitize_overflow: bool = True) -> Value:
    x, y, dtype, shape = operands(run, a, b)
    if dtype.kind in "iu":
        return _integer_product(run, x, y, dtype, shape)
    if dtype.kind == "p":
        raise Rejected("cannot multiply pointers")
    return elementwise(run, np.logical_and if dtype is int1 else np.multiply, x, y, dtype, shape)


def _integer_product(run: Run, a: Value, b: Value, dtype: DType, shape: Shape) -> Value:
    (low_a, high_a), (low_b, high_b) = a.interval, b.interval
    corners = (low_a * low_b, low_a * high_b, high_a * low_b, high_a * high_b)
    bounds: Interval | None = (min(corners), max(corners))
    within = dtype.low <= min(corners) and max(corners) <= dtype.high
    fits = within or dtype.primitive_bitwidth >= 64 or dtype.kind == "u"  # unsigned and 64 bits wrap by themselves
    if not within:
        bounds = None
    rank = len(shape)
    lost = undefined_in(rank, a, b)
    lazy, factor = (a, b) if a.lazy else (b, a)
    if fits and lazy.lazy and not factor.lazy and factor.data.size == factor.data.shape[0]:
        times = factor.data.reshape((-1,) + (1,) * rank)
        parts = [part * times for part in aligned_parts(lazy, rank)]
        return Value(dtype, shape, *parts, interval=bounds, undefined=lost)
    x, y = align(a.data, len(a.shape), rank), align(b.data, len(b.shape), rank)
    if fits:
        return run.make(dtype, shape, x * y, interval=bounds, undefined=lost)
    exact = x.astype(np.int64) * y.astype(np.int64)
    return run.make(dtype, shape, fit(run, exact, dtype, "multiplication"), undefined=lost)


# Division


def truediv(run: Run, a: Any, b: Any) -> Value:
    x, y, dtype, shape = operands(run, a, b, division=True)
    if dtype.kind != "f":
        dtype = float32
        x, y = cast(run, x, dtype), cast(run, y, dtype)
    return elementwise(run, np.divide, x, y, dtype, shape)


def floordiv(run: Run, a: Any, b: Any) -> Value:
    """Integer division, rounding towards zero as in C."""
    x, y, dtype, shape = operands(run, a, b, division=True)
    if not dtype.is_int():
        raise Rejected(f"// needs integers, got {dtype}")
    low, high = x.interval
    if low >= 0 and y.interval[0] > 0:
        return run.make(
            dtype,
            shape,
            align(x.data, len(x.shape), len(shape)) // align(y.data, len(y.shape), len(shape)),
            interval=(0, high),
            undefined=undefined_in(len(shape), x, y),
        )
    return elementwise(run, _divide_to_zero, x, y, dtype, shape)


def _divide_to_zero(x: Array, y: Array) -> Array:
    if not y.all():
        raise Fault("integer division by zero")
    return np.asarray((x - np.fmod(x, y)) // y)


def mod(run: Run, a: Any, b: Any) -> Value:
    """The remainder with the sign of the dividend, as in C."""
    x, y, dtype, shape = operands(run, a, b, division=True)
    if dtype.kind == "p":
        raise Rejected("% needs numbers")
    if dtype.is_int():
        if not y.data.all():
            raise Fault("integer remainder of a division by zero")
        if x.interval[0] >= 0 and y.interval[0] > 0:
            rank = len(shape)
            data = np.remainder(align(x.data, len(x.shape), rank), align(y.data, len(y.shape), rank))
            top = (0, min(x.interval[1], y.interval[1] - 1))
            return run.make(dtype, shape, data, interval=top, undefined=undefined_in(rank, x, y))
    return elementwise(run, np.fmod, x, y, dtype, shape)


def negate(run: Run, x: Value) -> Value:
    if x.dtype.kind == "p":
        raise Rejected("cannot negate a pointer")
    return sub(run, scalar(0, x.dtype), x)
