"""Element types by name, and exact rounding of float64 values into them.

NumPy has no bf16, so its bits travel as ``uint16``. Every conversion here rounds to the nearest value, ties to
even, straight from float64: going through float32 would round twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]
Raw = NDArray[Any]


@dataclass(frozen=True)
class DType:
    """One element type: its storage in NumPy, and for floats the bits of precision and the least normal
    exponent.
    """

    name: str
    storage: np.dtype[Any]
    precision: int = 0  # significant bits, the hidden one included; 0 for integers
    min_exponent: int = 0  # the smallest normal number is 2**min_exponent

    @property
    def is_float(self) -> bool:
        return self.precision > 0

    @property
    def epsilon(self) -> float:
        """Distance from 1 to the next value."""
        return 2.0 ** (1 - self.precision)

    @property
    def tiny(self) -> float:
        """Smallest normal number; hardware may flush what is below."""
        return 2.0**self.min_exponent


DTYPES: dict[str, DType] = {
    kind.name: kind
    for kind in (
        DType("fp64", np.dtype(np.float64), 53, -1022),
        DType("fp32", np.dtype(np.float32), 24, -126),
        DType("fp16", np.dtype(np.float16), 11, -14),
        DType("bf16", np.dtype(np.uint16), 8, -126),
        DType("int64", np.dtype(np.int64)),
        DType("int32", np.dtype(np.int32)),
        DType("int16", np.dtype(np.int16)),
        DType("int8", np.dtype(np.int8)),
        DType("uint8", np.dtype(np.uint8)),
        DType("bool", np.dtype(np.bool_)),
    )
}


def encode(values: Values, dtype: str) -> Raw:
    """`values` rounded to `dtype`, as the array that is stored. Too large becomes infinite, as IEEE 754 asks."""
    kind = DTYPES[dtype]
    wide = np.asarray(values, dtype=np.float64)
    if dtype == "bf16":
        return _to_bf16(wide)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        return wide.astype(kind.storage)


def decode(raw: Raw, dtype: str) -> Values:
    """The stored array `raw` as float64. Exact for floats and for integers below 2**53."""
    if dtype == "bf16":
        return (raw.astype(np.uint32) << np.uint32(16)).view(np.float32).astype(np.float64)
    return raw.astype(np.float64)


def rounded(values: Values, dtype: str) -> Values:
    """`values` as a kernel will see them: rounded to `dtype`, back in float64."""
    return decode(encode(values, dtype), dtype)


def half_ulp(values: Values, dtype: str) -> Values:
    """Half the distance between neighbours of `dtype` near each value: what one rounding may cost.

    0 for float64, for integers and where the value is not finite.
    """
    kind = DTYPES[dtype]
    if not kind.is_float or dtype == "fp64":
        return np.zeros_like(values)
    finite = np.isfinite(values)
    _, exponent = np.frexp(np.where(finite, values, 1.0))
    floor = np.where(values == 0.0, kind.min_exponent, np.maximum(exponent - 1, kind.min_exponent))
    return np.where(finite, np.ldexp(1.0, floor - kind.precision), 0.0)


def _to_bf16(wide: Values) -> NDArray[np.uint16]:
    """Round to odd in float32, then to nearest even in 16 bits: together one correct rounding."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        narrow = wide.astype(np.float32)
        narrow = np.where(np.abs(narrow) > np.abs(wide), np.nextafter(narrow, np.float32(0)), narrow)
        inexact = narrow.astype(np.float64) != wide
    bits = np.asarray(narrow, dtype=np.float32).view(np.uint32) | inexact.astype(np.uint32)
    even = (bits >> np.uint32(16)) & np.uint32(1)
    short = ((bits + np.uint32(0x7FFF) + even) >> np.uint32(16)).astype(np.uint16)
    quiet = (np.signbit(wide).astype(np.uint16) << np.uint16(15)) | np.uint16(0x7FC0)
    return np.where(np.isnan(wide), quiet, short).astype(np.uint16)
