"""Tolerances: a reason is required, NaN is refused, the rounding of the result itself is free and nothing else."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.kit import BadTolerance, Tolerance, big_enough, error_in_units, half_ulp, rounded, tolerance

WHY = "fp32 sums of a few terms, each off by half a unit"


def allow(expected: np.ndarray, relative: float = 1e-5, absolute: float = 1e-30, dtype: str = "fp32") -> Tolerance:
    return tolerance(expected, relative=relative, absolute=absolute, dtype=dtype, because=WHY)


@pytest.mark.parametrize("because", ["", "close enough", "   "])
def test_a_tolerance_needs_its_rounding_model(because: str) -> None:
    with pytest.raises(BadTolerance, match="because="):
        tolerance(np.ones(3), relative=1e-5, absolute=0.0, dtype="fp32", because=because)


@pytest.mark.parametrize(("relative", "absolute"), [(np.inf, 0.0), (np.nan, 0.0), (0.0, -1.0), (0.0, 0.0)])
def test_a_tolerance_is_positive_and_finite(relative: float, absolute: float) -> None:
    with pytest.raises(BadTolerance):
        allow(np.ones(3), relative, absolute)


@given(value=st.floats(-1e4, 1e4), dtype=st.sampled_from(["fp32", "fp16", "bf16"]))
def test_the_rounding_of_the_result_is_free(value: float, dtype: str) -> None:
    expected = np.array([value])
    assert error_in_units(rounded(expected, dtype), expected, allow(expected, dtype=dtype))[0] == 0.0


def test_error_is_measured_beyond_the_rounding() -> None:
    expected = np.array([1.0])
    allowed = allow(expected, relative=1e-3, absolute=0.0, dtype="fp16")
    half = half_ulp(expected, "fp16")[0]
    assert error_in_units(expected + half + 1e-3, expected, allowed)[0] == pytest.approx(1.0)
    assert error_in_units(expected + half + 2e-3, expected, allowed)[0] == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("actual", "expected", "accepted"),
    [
        (np.nan, 1.0, False),
        (np.inf, 1.0, False),
        (1.0, np.inf, False),
        (-np.inf, np.inf, False),
        (np.inf, np.inf, True),
        (-np.inf, -np.inf, True),
        (np.nan, np.nan, False),
        (np.nan, np.inf, False),
        (-0.0, 0.0, True),
    ],
)
def test_what_is_not_finite(actual: float, expected: float, accepted: bool) -> None:
    units = error_in_units(np.array([actual]), np.array([expected]), allow(np.array([expected])))
    assert bool(units[0] <= 1.0) is accepted


def test_relative_may_differ_from_row_to_row() -> None:
    expected = np.ones((2, 3))
    allowed = tolerance(expected, relative=np.array([[1e-6], [1e-3]]), absolute=0.0, dtype="fp64", because=WHY)
    units = error_in_units(expected + 1e-4, expected, allowed)
    assert (units[0] > 1).all() and (units[1] < 1).all()


def test_the_size_rule() -> None:
    assert big_enough(np.full(9, 51.0), allow(np.full(9, 51.0), absolute=1.0))
    assert not big_enough(np.full(9, 49.0), allow(np.full(9, 49.0), absolute=1.0))
    assert not big_enough(np.zeros(9), allow(np.zeros(9), absolute=1e-12))
    tiny = np.full(9, 1e-7)  # not far above the smallest number of fp16
    assert not big_enough(tiny, allow(tiny, dtype="fp16"))


def test_a_scale_stands_for_the_size_of_what_was_added_up() -> None:
    scale = np.array([10.0, 20.0])
    words = "a sum of terms that cancel, each with a rounding of its own"
    allowed = tolerance(
        np.array([0.0, 1e-3]), relative=0.5, absolute=0.25, dtype="fp32", because=words, scale=scale
    )
    np.testing.assert_array_equal(allowed.allowed, [5.25, 10.25])
