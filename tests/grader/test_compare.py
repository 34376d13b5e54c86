"""Comparing: where the first mismatch is, what the residual looks like, and that NaN is never accepted."""

from __future__ import annotations

import json

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.compare import Comparison, Tiling, compare, tile_map, written
from grader.kit import Tolerance, Values, tolerance
from grader.verdict import TileMap

TILES = Tiling(axis=1, block=4)


def allow(expected: Values) -> Tolerance:
    return tolerance(
        expected, relative=1e-4, absolute=1e-12, dtype="fp32", because="a tolerance for tests of the comparison"
    )


def against(expected: Values, actual: Values, tiling: Tiling | None = TILES, *inputs: Values) -> Comparison:
    return compare("result", actual, expected, allow(expected), tiling, inputs)


def softmax_like(rows: int = 3, cols: int = 10) -> Values:
    return np.random.default_rng(7).uniform(0.1, 1.0, (rows, cols))


def keys(found: Comparison) -> set[str]:
    return {feature.key for feature in found.features}


def test_equal_is_accepted_with_error_zero() -> None:
    found = against(softmax_like(), softmax_like())
    assert found.accepted and found.error == 0.0 and found.map is None


@given(share=st.floats(0.0, 3.0))
def test_accepted_exactly_up_to_the_tolerance(share: float) -> None:
    expected = np.ones((1, 2))
    found = against(expected, expected + share * 1e-4 + share * 1e-12)
    assert found.accepted is (found.error is not None and found.error <= 1.0)
    assert found.accepted or share > 0.99


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_one_bad_element_refuses_and_has_no_number(bad: float) -> None:
    actual = softmax_like()
    actual[1, 9] = bad
    found = against(softmax_like(), actual)
    assert not found.accepted
    assert found.error is None
    assert found.mismatch is not None
    assert (found.mismatch.nan, found.mismatch.inf) == ((1, 0) if np.isnan(bad) else (0, 1))
    assert found.mismatch.wrong == 1


def test_the_first_mismatch_has_index_tile_and_lane() -> None:
    actual = softmax_like()
    actual[1, 9] = 5.0
    actual[2, 0] = 5.0
    mismatch = against(softmax_like(), actual).mismatch
    assert mismatch is not None
    first = mismatch.first
    assert (first.index, first.axis, first.tile, first.lane, first.block) == ((1, 9), 1, 2, 1, 4)
    assert mismatch.actual == "5"
    assert (mismatch.wrong, mismatch.total) == (2, 30)


@pytest.mark.parametrize(("bad", "words"), [(np.nan, "NaN"), (np.inf, "∞"), (-np.inf, "−∞")])
def test_a_value_that_is_not_finite_is_told_beside_a_wrong_number_before_it(bad: float, words: str) -> None:
    actual = softmax_like()
    actual[0, 2] = 5.0
    actual[1, 9] = bad
    mismatch = against(softmax_like(), actual).mismatch
    assert mismatch is not None and mismatch.not_finite is not None
    assert (mismatch.first.index, mismatch.actual) == ((0, 2), "5")
    odd = mismatch.not_finite
    assert (odd.at.index, odd.at.tile, odd.at.lane, odd.actual) == ((1, 9), 2, 1, words)
    assert odd.expected == written(softmax_like()[1, 9])


def test_a_value_that_is_not_finite_is_told_once() -> None:
    first_itself, no_such, right = softmax_like(), softmax_like(), softmax_like()
    first_itself[0, 2] = np.nan
    first_itself[1, 9] = np.inf
    no_such[0, 2] = 5.0
    no_such[1, 9] = right[1, 9] = np.inf  # where an infinity is right, it is nothing to tell
    for expected, actual in ((softmax_like(), first_itself), (right, no_such)):
        mismatch = against(expected, actual).mismatch
        assert mismatch is not None and mismatch.not_finite is None


def test_without_tiles_there_is_only_the_index() -> None:
    mismatch = against(np.ones(3), np.array([1.0, 2.0, 1.0]), None).mismatch
    assert mismatch is not None
    assert mismatch.first.index == (1,) and mismatch.first.tile is None


def change(what: str) -> tuple[Values, Values]:
    """An expected result, and what a kernel with a known fault gives."""
    expected = softmax_like()
    actual = expected.copy()
    if what == "last tile":
        actual[:, 8:] = 0.0
    elif what == "all but first tile":
        actual[:, 4:] *= 3.0
        actual[0, 5] = 0.2
    elif what == "first tile":
        actual[:, :4] += 1.0
    elif what == "zeros":
        actual[:] = 0.0
    elif what == "nan":
        actual[:] = np.nan
    elif what == "factor":
        actual *= 0.93
    elif what == "row factor":
        actual *= np.array([[1.0], [2.0], [3.0]])
    elif what == "first row only":
        actual[1:] = 0.0
    elif what == "mean":
        actual[:] = actual.mean(axis=1, keepdims=True)
    return expected, actual


@pytest.mark.parametrize(
    ("what", "key"),
    [
        ("last tile", "last_tile"),
        ("all but first tile", "first_tile_right"),
        ("first tile", "first_tile_wrong"),
        ("zeros", "zeros"),
        ("nan", "all_nan"),
        ("factor", "factor"),
        ("row factor", "row_factor"),
        ("first row only", "all_but_first_row"),
        ("mean", "flat"),
    ],
)
def test_residual_features(what: str, key: str) -> None:
    assert key in keys(against(*change(what)))


def test_features_do_not_appear_where_they_are_not() -> None:
    expected = softmax_like()
    actual = expected.copy()
    actual[1, 6] = 3.0
    assert keys(against(expected, actual)) == {"some_rows"}


def test_a_constant_factor_is_said_with_its_size() -> None:
    features = against(*change("factor")).features
    assert any("0.93 times" in feature.words for feature in features)


def test_a_copied_input_is_recognised() -> None:
    x = softmax_like() * 7
    assert "input" in keys(against(softmax_like(), x, TILES, x))


@pytest.mark.parametrize(
    ("value", "text"), [(np.nan, "NaN"), (np.inf, "∞"), (-np.inf, "−∞"), (-0.25, "−0.25"), (1 / 3, "0.333333333")]
)
def test_numbers_as_they_are_written(value: float, text: str) -> None:
    assert written(value) == text


def test_the_tile_map_keeps_the_largest_error_of_each_tile() -> None:
    units = np.zeros((2, 10))
    units[1, 5] = 7.0
    units[0, 9] = np.nan
    found = tile_map(units, TILES)
    assert found == TileMap(block=4, rows=(0, 1), cells=((0.0, 0.0, None), (0.0, 7.0, 0.0)))


@given(
    rows=st.integers(1, 70), cols=st.integers(1, 900), block=st.sampled_from([1, 4, 64]), seed=st.integers(0, 99)
)
def test_a_long_map_is_folded_and_loses_no_maximum(rows: int, cols: int, block: int, seed: int) -> None:
    units = np.random.default_rng(seed).uniform(0, 9, (rows, cols))
    found = tile_map(units, Tiling(1, block))
    assert found is not None
    assert len(found.rows) == len(found.cells) <= 16
    assert all(len(row) <= 48 for row in found.cells)
    assert max(cell for row in found.cells for cell in row if cell is not None) == pytest.approx(units.max())


def test_everything_survives_json() -> None:
    actual = np.full((3, 10), np.nan)
    actual[0, 0] = np.inf
    found = against(softmax_like(), actual)
    assert found.mismatch is not None and found.map is not None
    json.loads(msgspec.json.encode((found.mismatch, found.map)))
