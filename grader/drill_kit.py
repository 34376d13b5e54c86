"""Helpers that a learner's file may import as ``drill_kit``. Nothing here knows any answer."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

E4M3_MAX = 448.0  # the largest finite value of 8-bit floats with 4 exponent and 3 mantissa bits


def cdiv(length: int, block: int) -> int:
    """How many tiles of `block` cover `length` elements: the quotient, rounded up."""
    return -(-length // block)


def next_power_of_2(length: int) -> int:
    """The smallest power of two that is at least `length`; a block must be one. 1 for lengths below 1."""
    return 1 << max(length - 1, 0).bit_length()


def to_e4m3(x: NDArray[Any]) -> NDArray[np.float32]:
    """`x` rounded to the nearest E4M3 value, ties to even, as float32 of the same shape.

    What is beyond ±448 becomes ±448, infinities too; NaN stays NaN. The smallest normal value is 2⁻⁶, below it
    the spacing is 2⁻⁹, and what is nearer to zero than half of that becomes zero.
    """
    wide = np.asarray(x, dtype=np.float64)
    with np.errstate(invalid="ignore"):
        _, exponent = np.frexp(np.where(np.isfinite(wide), wide, 1.0))
        spacing = np.ldexp(1.0, np.maximum(exponent - 1, -6) - 3)
        nearest = np.rint(wide / spacing) * spacing
    return np.asarray(np.clip(nearest, -E4M3_MAX, E4M3_MAX), dtype=np.float32)
