"""Data axes do what their words say, for any shape, and can't be predicted without the seed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.kit import DATA, build, generator

SHAPES = st.tuples(st.integers(1, 4), st.integers(1, 300))
BLOCK = 64


@pytest.mark.parametrize("name", sorted(DATA))
@given(shape=SHAPES, seed=st.binary(max_size=8))
def test_every_builder_fits_any_shape_and_gives_no_nan(name: str, shape: tuple[int, int], seed: bytes) -> None:
    values = build(name, generator(seed, name), shape, BLOCK)
    assert values.shape == shape
    assert values.dtype == np.float64
    assert not np.isnan(values).any()
    assert (values < np.inf).all()
    assert np.isfinite(values).any(axis=-1).all(), "every row has a finite entry"


def drawn(name: str, shape: tuple[int, int] = (3, 4 * BLOCK)) -> np.ndarray:
    return build(name, generator(b"seed", name), shape, BLOCK)


@given(cols=st.integers(2, 600), seed=st.binary(max_size=8))
def test_rising_has_a_new_maximum_in_every_tile_wherever_tiles_end(cols: int, seed: bytes) -> None:
    values = build("rising", generator(seed), (2, cols), BLOCK)
    assert (np.diff(values, axis=1) > 0).all()
    assert (values[:, -1] - values[:, 0] > 6).all(), "enough for a missing rescale to show"


@given(cols=st.integers(2, 600), seed=st.binary(max_size=8))
def test_falling_never_has_a_new_maximum(cols: int, seed: bytes) -> None:
    assert (np.diff(build("falling", generator(seed), (2, cols), BLOCK), axis=1) < 0).all()


def test_negative_is_far_below_zero() -> None:
    assert drawn("negative").max() < -4


def test_spike_has_one_value_above_the_rest() -> None:
    ordered = np.sort(drawn("spike"), axis=1)
    assert (ordered[:, -1] - ordered[:, -2] > 20).all()


def test_late_begins_with_a_tile_of_minus_infinity() -> None:
    assert np.isneginf(drawn("late")[:, :BLOCK]).all()


def test_cliff_and_lift_leave_the_range_of_exp_in_fp32() -> None:
    for name, far, near in (
        ("cliff", np.s_[:, -BLOCK:], np.s_[:, :BLOCK]),
        ("lift", np.s_[:, :BLOCK], np.s_[:, -BLOCK:]),
    ):
        values = drawn(name)
        assert (values[near].min(axis=1) - values[far].max(axis=1) > 89).all()


def test_ahead_is_more_than_a_tile_and_less_than_all() -> None:
    weights = np.exp(drawn("ahead"))
    assert (weights[:, 0] == 1).all()
    assert (weights[:, 1 : BLOCK + 1].sum(axis=1) < 16 * 2.0**-11).all() and (weights[:, 1:] < 2.0**-12).all()


def test_apart_rows_do_not_share_a_maximum() -> None:
    tops = drawn("apart").max(axis=1)
    assert (np.abs(np.diff(tops)) > 104).all()


def test_constant_rows() -> None:
    values = drawn("constant")
    assert (values == values[:, :1]).all()
    assert len(np.unique(values)) == 3


def test_same_seed_same_data_other_seed_or_name_other_data() -> None:
    first = generator(b"seed", "drill", "case").standard_normal(8)
    assert (generator(b"seed", "drill", "case").standard_normal(8) == first).all()
    assert (generator(b"seed", "drill", "other").standard_normal(8) != first).any()
    assert (generator(b"other", "drill", "case").standard_normal(8) != first).any()
    assert (generator(b"seed", "drillcase", "").standard_normal(8) != first).any()
