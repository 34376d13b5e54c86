"""Conversion between float64 and the element types: correct rounding, everywhere."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.kit import DTYPES, decode, encode, half_ulp, rounded

ANY = st.floats(allow_nan=False, allow_infinity=False, width=64)
NEAR_BF16 = st.integers(0, 0x7F7E).flatmap(  # ties and their neighbours, where a double rounding shows
    lambda bits: st.sampled_from([0.0, 2.0**-40, -(2.0**-40), 2.0**-30]).map(
        lambda nudge: _bf16(bits) + (_bf16(bits + 1) - _bf16(bits)) / 2 * (1 + nudge)
    )
)


def _bf16(bits: int) -> float:
    return float(np.array(bits << 16, np.uint32).view(np.float32))


def nearest_even(value: float, dtype: str) -> float:
    """Round by exact arithmetic, the slow and obvious way."""
    kind = DTYPES[dtype]
    if value == 0:
        return value
    exponent = max(math.frexp(abs(value))[1] - 1, kind.min_exponent)
    unit = Fraction(2) ** (exponent - kind.precision + 1)
    result = round(Fraction(value) / unit) * unit  # Python rounds fractions half to even
    largest = {"fp16": 15, "bf16": 127, "fp32": 127}[dtype]
    limit = (2 - Fraction(2) ** (1 - kind.precision)) * Fraction(2) ** largest
    return math.copysign(math.inf if abs(result) > limit else float(result), value)


@pytest.mark.parametrize("dtype", ["fp32", "fp16", "bf16"])
@given(value=ANY | st.floats(-70_000, 70_000) | st.floats(-1e-6, 1e-6))
def test_rounds_to_nearest_even(dtype: str, value: float) -> None:
    assert rounded(np.array([value]), dtype)[0] == nearest_even(value, dtype)


@given(value=NEAR_BF16)
def test_bf16_is_rounded_once(value: float) -> None:
    assert rounded(np.array([value]), "bf16")[0] == nearest_even(value, "bf16")


def test_bf16_rounding_through_fp32_would_differ() -> None:
    value = 1 + 2.0**-8 + 2.0**-40  # just above a tie of bf16; fp32 would drop the last bit and land on the tie
    assert rounded(np.array([value]), "bf16")[0] == 1 + 2.0**-7
    assert rounded(np.array([float(np.float32(value))]), "bf16")[0] == 1.0


@pytest.mark.parametrize("dtype", ["fp64", "fp32", "fp16", "bf16"])
def test_keeps_nan_infinity_and_signed_zero(dtype: str) -> None:
    back = rounded(np.array([np.nan, np.inf, -np.inf, -0.0]), dtype)
    assert math.isnan(back[0])
    assert back[1] == math.inf
    assert back[2] == -math.inf
    assert math.copysign(1, back[3]) == -1


def test_too_large_for_the_type_is_infinite() -> None:
    assert rounded(np.array([65_520.0]), "fp16")[0] == math.inf
    assert rounded(np.array([65_519.0]), "fp16")[0] == 65_504
    assert rounded(np.array([3.4e38]), "bf16")[0] == math.inf


@given(bits=st.integers(0, 0xFFFF))
def test_every_bf16_value_survives(bits: int) -> None:
    raw = np.array([bits], np.uint16)
    value = decode(raw, "bf16")
    if not np.isnan(value[0]):
        assert encode(value, "bf16")[0] == bits


@pytest.mark.parametrize("dtype", ["fp32", "fp16", "bf16"])
@given(value=st.floats(-60_000, 60_000))
def test_half_ulp_bounds_the_rounding(dtype: str, value: float) -> None:
    value = value or 0.0
    assert abs(rounded(np.array([value]), dtype)[0] - value) <= half_ulp(np.array([value]), dtype)[0]


def test_half_ulp_of_what_has_no_neighbours() -> None:
    assert half_ulp(np.array([0.0]), "fp16")[0] == 2.0**-25
    assert not half_ulp(np.array([np.inf, -np.inf]), "fp32").any()
    assert not half_ulp(np.array([3.0]), "fp64").any()
    assert not half_ulp(np.array([3.0]), "int32").any()
