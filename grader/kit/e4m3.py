"""8-bit floats with 4 exponent and 3 mantissa bits, as a table: what suites measure quantisation errors with."""

from __future__ import annotations

from typing import Final

import numpy as np

from grader.kit.dtypes import Values

# All values from zero up, in the order of their codes: subnormals, then eight to each power of two; the last code
# is NaN, so 448 is the largest.
E4M3: Final[Values] = np.array([2.0**-6 * k / 8 for k in range(8)] + [
    2.0**e * (1 + k / 8) for e in range(-6, 9) for k in range(8)
][:-1])  # fmt: skip


def e4m3(values: Values) -> Values:
    """`values` rounded to the nearest E4M3 value, ties to the even code, saturated at ±448; float64."""
    size = np.minimum(np.abs(values), E4M3[-1])
    above = np.clip(np.searchsorted(E4M3, size), 1, len(E4M3) - 1)
    below = above - 1
    middle = (E4M3[above] + E4M3[below]) / 2
    up = (size > middle) | ((size == middle) & (above % 2 == 0))
    return np.asarray(np.copysign(np.where(up, E4M3[above], E4M3[below]), values), dtype=np.float64)
