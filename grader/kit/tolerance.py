"""How far a result may lie from the float64 reference, and why.

The rounding of the result to its own type is free: |actual − expected| is first reduced by half a unit in the last
place. What is left is measured against `allowed`, the rounding model of the computation. So a half-precision result
does not need a loose tolerance, and a half-precision *state* inside the kernel shows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from grader.kit.dtypes import DTYPES, Values, half_ulp

SIZE_RULE = 50.0  # the median |expected| must exceed the absolute tolerance by this factor


@dataclass(frozen=True)
class Tolerance:
    """`allowed` is the absolute error each element may have beyond its own rounding; same shape as the result.

    Where `pooled`, it is not each element that counts but the root mean square of all of them: the only fair
    measure where large errors of single elements are in the nature of the method, as in 8-bit arithmetic.
    `least` is then an error that the method can't go below: a smaller one was computed in some other way.
    """

    allowed: Values
    absolute: float
    dtype: str
    because: str
    pooled: bool = False
    least: float = 0.0


class BadTolerance(ValueError):
    """A tolerance without a reason, or without a positive finite size."""


def tolerance(
    expected: Values,
    *,
    relative: float | Values,
    absolute: float,
    dtype: str,
    because: str,
    scale: Values | None = None,
) -> Tolerance:
    """Allow ``absolute + relative · |expected|`` beyond the rounding of the result to `dtype`.

    `relative` may be an array that broadcasts to `expected` (say, one value a row). `scale` stands for |expected|
    where results are small differences of large terms: the sum of the terms' sizes. `because` names the rounding
    model in a sentence. Raises `BadTolerance` when it does not, or when the allowance is not positive and finite.
    """
    if len(because.split()) < 6:
        raise BadTolerance("because= must state the rounding model in a sentence")
    size = np.where(np.isfinite(expected), np.abs(expected), 0.0) if scale is None else np.abs(scale)
    allowed = np.broadcast_to(absolute + np.asarray(relative) * size, expected.shape)
    if not (absolute >= 0 and np.all(np.isfinite(allowed)) and np.all(allowed >= 0)):
        raise BadTolerance("a tolerance must be finite and not negative")
    if DTYPES[dtype].is_float and not np.all(allowed > 0):
        raise BadTolerance("an element with no tolerance at all can't be met in floating point")
    return Tolerance(np.asarray(allowed, dtype=np.float64), absolute, dtype, because)


def pooled(expected: Values, *, allowed: float, least: float, dtype: str, because: str) -> Tolerance:
    """Allow a root mean square error of `allowed` over the whole result, and none below `least`.

    Raises `BadTolerance` unless ``0 <= least < allowed`` and both are finite, and as `tolerance` does.
    """
    if not 0 <= least < allowed < float("inf"):
        raise BadTolerance("a pooled tolerance needs 0 <= least < allowed, both finite")
    plain = tolerance(expected, relative=0.0, absolute=allowed, dtype=dtype, because=because)
    return Tolerance(plain.allowed, 0.0, dtype, because, pooled=True, least=least)


def error_in_units(actual: Values, expected: Values, allowed: Tolerance) -> Values:
    """|actual − expected| beyond its own rounding, in units of the tolerance; accepted is ``<= 1``.

    NaN where `actual` is NaN (so that ``<= 1`` refuses it), +inf where one of the two is infinite and the other is
    not the same infinity. A NaN is never expected: a reference that gives one is a fault of the suite.
    A pooled tolerance gives every element the same figure; +inf where the error is below its least.
    """
    if allowed.pooled:
        return np.full(expected.shape, _pooled_error(actual, expected, allowed))
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        distance = np.abs(actual - expected)
        beyond = np.maximum(0.0, distance - half_ulp(expected, allowed.dtype))
        units = np.where(beyond == 0.0, 0.0, beyond / allowed.allowed)
    units = np.where(np.isinf(actual) | np.isinf(expected), np.inf, units)
    units = np.where(actual == expected, 0.0, units)
    return np.where(np.isnan(actual) | np.isnan(expected), np.nan, units)


def _pooled_error(actual: Values, expected: Values, allowed: Tolerance) -> float:
    with np.errstate(invalid="ignore", over="ignore"):
        error = float(np.sqrt(np.mean((actual - expected) ** 2)))
    if error < allowed.least:
        return float("inf")
    return error / float(allowed.allowed.max())


def big_enough(expected: Values, allowed: Tolerance) -> bool:
    """The size rule: results must be large against the absolute tolerance, or zeros would pass."""
    finite = np.abs(expected[np.isfinite(expected) & (expected != 0.0)])
    smallest = half_ulp(np.zeros(1), allowed.dtype)[0]
    return bool(finite.size and np.median(finite) > SIZE_RULE * (allowed.absolute + smallest))
