"""A value of a kernel, for all programs of the running chunk at once.

A `Value` has an element type, the shape that one program sees, and an array with one leading axis for the programs:
size 1 when all programs agree (then it is computed once), otherwise one row a program. Tile axes may also stay at
size 1 where the value does not vary along them; nothing is broadcast before it must be.

Sums of integers and pointers, and conjunctions of masks, are kept as `parts` of different broadcast shapes as long
as nobody asks for `data`. So the 64×64 pointers of a tile are usually never built: `load` sees a column of row
starts and a row of consecutive columns, and copies rows.

Values are shared freely and never changed after they were made.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from grader.interpreter.dtypes import Array, DType, float32, float64, int1, int32, int64, uint32, uint64
from grader.interpreter.errors import Rejected
from grader.interpreter.memory import View

Shape = tuple[int, ...]
Interval = tuple[int, int]


class Value:
    """`data` has shape (1 or programs, then per axis of `shape` either its size or 1).

    `memory` is the tensor a pointer points into. `interval` bounds an integer. `undefined` marks the lanes that a
    masked load left without a value (broadcastable to `data`), None when there are none.
    """

    __slots__ = ("_data", "_interval", "dtype", "memory", "parts", "shape", "undefined")

    def __init__(
        self,
        dtype: DType,
        shape: Shape,
        *parts: Array,
        memory: View | None = None,
        interval: Interval | None = None,
        undefined: Array | None = None,
    ) -> None:
        self.dtype = dtype
        self.shape = shape
        self.parts = parts
        self.memory = memory
        self.undefined = undefined
        self._data: Array | None = parts[0] if len(parts) == 1 else None
        self._interval = interval

    @property
    def data(self) -> Array:
        """The parts as one array."""
        if self._data is None:
            total = self.parts[0]
            for part in self.parts[1:]:
                total = total & part if self.dtype is int1 else total + part
            self._data = total
        return self._data

    @property
    def lazy(self) -> bool:
        return self._data is None

    @property
    def interval(self) -> Interval:
        """Bounds of an integer value over all programs and lanes."""
        if self._interval is None:
            if self.parts[0].size == 0:
                return 0, 0
            self._interval = (
                sum(int(part.min()) for part in self.parts),
                sum(int(part.max()) for part in self.parts),
            )
        return self._interval

    @property
    def numel(self) -> int:
        return math.prod(self.shape)

    @property
    def full(self) -> Array:
        """`data` with every tile axis at its size."""
        data = self.data
        wanted = (data.shape[0], *self.shape)
        return data if data.shape == wanted else np.ascontiguousarray(np.broadcast_to(data, wanted))

    def __repr__(self) -> str:
        return f"{self.dtype}{list(self.shape)}" if self.shape else str(self.dtype)


def same_type(a: Any, b: Any) -> bool:
    """Whether the compiler gives two values the same type."""
    if isinstance(a, Value) and isinstance(b, Value):
        return (a.dtype is b.dtype or a.dtype == b.dtype) and a.shape == b.shape
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(map(same_type, a, b))
    return type(a) is type(b) and (not is_number(a) or a == b)


# Python numbers


_NUMBERS = (int, float, bool, np.number)


def is_number(x: Any) -> bool:
    return isinstance(x, _NUMBERS)


def number_type(x: Any) -> DType:
    """The type that the compiler gives a Python number."""
    if isinstance(x, bool | np.bool_):
        return int1
    if isinstance(x, int | np.integer):
        for dtype in (int32, uint32, int64, uint64):
            if dtype.low <= x <= dtype.high:
                return dtype
        raise Rejected(f"the integer {x} does not fit 64 bits")
    size = abs(x)
    fits = size == 0 or size == math.inf or x != x or 2**-126 <= size <= (2 - 2**-23) * 2**127
    return float32 if fits else float64


_SCALARS: dict[tuple[Any, type, DType | None], Value] = {}


def scalar(x: Any, dtype: DType | None = None) -> Value:
    """A Python number as a value that all programs share."""
    key = (x, type(x), dtype)
    known = _SCALARS.get(key)
    if known is None:
        kind = dtype or number_type(x)
        with np.errstate(all="ignore"):
            data = np.array([x]).astype(kind.held)
        if kind.round:
            data = kind.round(data)
        data.flags.writeable = False
        if len(_SCALARS) > 4096:
            _SCALARS.clear()
        known = _SCALARS[key] = Value(kind, (), data)
    return known


def value_of(x: Any) -> Value:
    if isinstance(x, Value):
        return x
    if is_number(x):
        return scalar(x)
    raise Rejected(f"cannot convert {x!r} of type {type(x).__name__} to a tensor")


# Shapes


def align(array: Array, rank: int, to: int) -> Array:
    """An array of a tile of rank `rank`, with axes of size 1 in front so that it broadcasts against rank `to`."""
    if rank == to or (rank == 0 and array.ndim == to + 1):
        return array
    return array.reshape(array.shape[:1] + (1,) * (to - rank) + array.shape[1:])


_BROADCAST: dict[tuple[Shape, Shape], Shape] = {}


def broadcast_shape(a: Shape, b: Shape) -> Shape:
    if a == b or b == ():
        return a
    known = _BROADCAST.get((a, b))
    if known is None:
        rank = max(len(a), len(b))
        pairs = zip((1,) * (rank - len(a)) + a, (1,) * (rank - len(b)) + b, strict=True)
        out = []
        for x, y in pairs:
            if x != y and x != 1 and y != 1:
                raise Rejected(f"cannot broadcast shapes {list(a)} and {list(b)}: the sizes {x} and {y} differ")
            out.append(max(x, y))
        known = _BROADCAST[a, b] = tuple(out)
    return known


def covers(a: Array, b: Array) -> bool:
    """Whether combining `b` into `a` leaves `a`'s shape."""
    if b.size == 1 or a.shape == b.shape:
        return True
    return all(x == y or y == 1 for x, y in zip(a.shape, b.shape, strict=True))


def collapse(value: Value) -> Value:
    """A scalar on which all programs turn out to agree, computed once from here on."""
    data = value._data
    if data is not None and data.shape[0] > 1 and value.dtype.kind != "f" and value.shape == ():
        first = data[:1]
        if value.undefined is None and (data == first).all():
            return Value(value.dtype, (), first, memory=value.memory, interval=value._interval)
    return value


def undefined_in(rank: int, *values: Value) -> Array | None:
    """The lanes undefined in any of the operands of an elementwise operation of rank `rank`."""
    lost: Array | None = None
    for value in values:
        if value.undefined is not None:
            mine = align(value.undefined, len(value.shape), rank)
            lost = mine if lost is None else lost | mine
    return lost
