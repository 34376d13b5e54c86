"""Layouts: the view shows the values, everything else is poison."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.kit import DTYPES, GUARD, LAYOUTS, decode, place, rounded, window

FLOATS = ["fp64", "fp32", "fp16", "bf16"]


@pytest.mark.parametrize("layout", sorted(LAYOUTS))
@pytest.mark.parametrize("dtype", FLOATS)
@given(shape=st.tuples(st.integers(1, 5), st.integers(1, 40)), seed=st.integers(0, 999))
def test_the_view_shows_the_values_and_the_rest_is_poison(
    layout: str, dtype: str, shape: tuple[int, int], seed: int
) -> None:
    values = np.random.default_rng(seed).standard_normal(shape)
    placed = place(values, dtype, layout)
    shown = decode(window(placed.storage, placed.shape, placed.strides, placed.offset), dtype)
    assert np.array_equal(shown, placed.values)
    wanted = np.broadcast_to(values[0], shape) if layout == "expanded" else values
    assert np.array_equal(placed.values, rounded(wanted, dtype))
    inside = np.zeros(placed.storage.shape, bool)
    grid = np.indices(shape).reshape(2, -1)
    inside[placed.offset + np.asarray(placed.strides) @ grid] = True
    assert np.isnan(decode(placed.storage[~inside], dtype)).all()
    assert not inside[:GUARD].any() and not inside[-GUARD:].any()


def test_layouts_have_the_strides_they_promise() -> None:
    strides = {name: place(np.zeros((3, 5)), "fp32", name).strides for name in LAYOUTS}
    assert strides["contiguous"] == (5, 1)
    assert strides["padded"][0] > 5 and strides["padded"][1] == 1
    assert strides["expanded"] == (0, 1)
    assert strides["transposed"] == (1, 3)
    assert strides["sliced"] == (10, 2)
    assert strides["interleaved"] == strides["shared"] == (5, 1)


def test_layouts_of_heads() -> None:
    values = np.arange(2 * 3 * 4 * 5, dtype=float).reshape(2, 3, 4, 5)
    beside = place(values, "fp32", "interleaved")
    assert beside.strides == (60, 5, 15, 1)
    assert np.array_equal(window(beside.storage, beside.shape, beside.strides, beside.offset), values)
    one = place(values, "fp32", "shared")
    assert one.strides == (20, 0, 5, 1)
    assert np.array_equal(one.values, np.broadcast_to(values[:, :1], values.shape))


def test_integers_are_guarded_by_their_least_value() -> None:
    placed = place(np.array([1.0, 2.0]), "int32")
    assert (placed.storage[:GUARD] == np.iinfo(np.int32).min).all()
    assert placed.storage[GUARD : GUARD + 2].tolist() == [1, 2]


@pytest.mark.parametrize(
    ("shape", "strides", "offset"),
    [((3,), (4,), 2), ((3,), (-1,), 4), ((3,), (1, 1), 0), ((2,), (1,), 9), ((-1,), (1,), 0)],
)
def test_a_window_never_leaves_its_storage(shape: tuple[int, ...], strides: tuple[int, ...], offset: int) -> None:
    with pytest.raises(ValueError):
        window(np.zeros(10), shape, strides, offset)


def test_an_empty_window_is_empty() -> None:
    assert window(np.zeros(0), (0, 3), (3, 1), 0).shape == (0, 3)


def test_every_type_has_poison() -> None:
    for dtype in DTYPES:
        assert place(np.ones((1, 2)), dtype).storage.size == 2 * GUARD + 2
