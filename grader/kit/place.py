"""Where values lie in memory: views with strides, gaps and guard bands, all poisoned.

Every slot that a kernel must not read holds NaN (the least integer for integer types), so a read out of place
reaches the result, and a write out of place changes the digest of the storage.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from grader.kit.dtypes import DTYPES, Raw, Values, decode, encode

GUARD = 64  # elements before and after; wider than a tile's overrun of a few lanes, narrow enough to ship


@dataclass(frozen=True)
class Placed:
    """An array argument: the values a kernel sees (float64, already rounded) and the storage they lie in.

    `strides` and `offset` count elements.
    """

    values: Values
    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int
    storage: Raw


LAYOUTS: dict[str, str] = {
    "contiguous": "contiguous",
    "padded": "rows longer than the view",
    "expanded": "one row expanded",
    "transposed": "the last two axes swapped in memory",
    "sliced": "every other column of a wider array",
    "interleaved": "heads side by side in memory",
    "shared": "one head shown for all heads",
}


def place(values: Values, dtype: str, layout: str = "contiguous") -> Placed:
    """Round `values` to `dtype` and lay them out between guard bands.

    Layouts are the keys of `LAYOUTS`. "expanded" repeats the first row with stride 0 along every axis but the last,
    "shared" the first head (third axis from the end, if there is one). Raises `KeyError` for an unknown layout.
    """
    shape = tuple(int(n) for n in np.shape(values))
    if layout == "expanded":
        first = np.asarray(values)[(0,) * (len(shape) - 1)]
        values = np.broadcast_to(first, shape)
    if layout == "shared" and len(shape) > 2:
        values = np.broadcast_to(np.asarray(values)[..., :1, :, :], shape)
    raw = encode(values, dtype)
    strides = _strides(shape, layout)
    extent = 1 + sum((n - 1) * s for n, s in zip(shape, strides, strict=True)) if math.prod(shape) else 0
    storage = np.full(GUARD + extent + GUARD, _poison(dtype), dtype=DTYPES[dtype].storage)
    window(storage, shape, strides, GUARD)[...] = raw
    return Placed(decode(raw, dtype), dtype, shape, strides, GUARD, storage)


def window(storage: Raw, shape: tuple[int, ...], strides: tuple[int, ...], offset: int) -> Raw:
    """The view of a one-dimensional `storage` that shape, strides and offset (elements) describe.

    Raises `ValueError` if any element of it lies outside the storage.
    """
    if len(shape) != len(strides) or any(n < 0 for n in (*shape, *strides, offset)):
        raise ValueError("a view needs one stride per axis and nothing negative")
    last = offset + sum((n - 1) * s for n, s in zip(shape, strides, strict=True))
    if math.prod(shape) and last >= storage.size:
        raise ValueError(f"the view ends at element {last} of {storage.size}")
    if not math.prod(shape):
        return np.empty(shape, dtype=storage.dtype)
    size = storage.itemsize
    return np.lib.stride_tricks.as_strided(storage[offset:], shape, tuple(s * size for s in strides))


def _poison(dtype: str) -> Any:
    kind = DTYPES[dtype]
    if dtype == "bf16":
        return np.uint16(0x7FC0)
    if kind.is_float:
        return np.nan
    return True if dtype == "bool" else np.iinfo(kind.storage).min


def _strides(shape: tuple[int, ...], layout: str) -> tuple[int, ...]:
    dense = [1] * len(shape)
    for axis in reversed(range(len(shape) - 1)):
        dense[axis] = dense[axis + 1] * max(1, shape[axis + 1])
    if layout == "contiguous":
        return tuple(dense)
    if layout == "padded":  # an odd gap, so that no row but the first is aligned
        gap = 7
        return tuple(s // max(1, shape[-1]) * (shape[-1] + gap) for s in dense[:-1]) + tuple(dense[-1:])
    if layout == "expanded":
        return (0,) * (len(shape) - 1) + (1,)
    if layout == "transposed":
        swapped = _strides((*shape[:-2], shape[-1], shape[-2]), "contiguous")
        return (*swapped[:-2], swapped[-1], swapped[-2])
    if layout == "sliced":
        return tuple(2 * s for s in dense)
    if len(shape) < 3 and layout in ("interleaved", "shared"):
        return tuple(dense)
    if layout == "interleaved":  # as [..., rows, heads, columns] in memory
        *outer, heads, rows, columns = shape
        swapped = _strides((*outer, rows, heads, columns), "contiguous")
        return (*swapped[:-3], swapped[-2], swapped[-3], swapped[-1])
    if layout == "shared":
        one = _strides((*shape[:-3], 1, *shape[-2:]), "contiguous")
        return (*one[:-3], 0, *one[-2:])
    raise KeyError(layout)
