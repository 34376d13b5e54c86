"""Two constructions of E4M3, by table and by exponent, agree; the corners are as the format has them."""

from __future__ import annotations

import numpy as np

from grader.drill_kit import to_e4m3
from grader.kit import e4m3
from grader.kit.e4m3 import E4M3


def test_the_table_has_every_value_once() -> None:
    assert len(E4M3) == 127 and (np.diff(E4M3) > 0).all()
    assert (E4M3[1], E4M3[8], E4M3[-1]) == (2.0**-9, 2.0**-6, 448.0)


def test_both_agree_on_values_midpoints_and_their_neighbours() -> None:
    middles = (E4M3[1:] + E4M3[:-1]) / 2
    near = np.concatenate(
        [E4M3, middles, np.nextafter(middles, 0), np.nextafter(middles, 999), [449.0, 464.0, 1e30]]
    )
    x = np.concatenate([near, -near, np.random.default_rng(5).normal(size=20_000) * 100])
    ours = to_e4m3(x)
    assert ours.dtype == np.float32 and ours.shape == x.shape
    np.testing.assert_array_equal(ours.astype(np.float64), e4m3(x))
    np.testing.assert_array_equal(e4m3(E4M3), E4M3)


def test_ties_go_to_the_even_code_and_the_ends_saturate() -> None:
    x = np.array([17.0, 19.0, 2.0**-10, 3 * 2.0**-10, np.inf, -np.inf, 0.0])
    np.testing.assert_array_equal(to_e4m3(x), np.array([16, 20, 0, 2 * 2.0**-9, 448, -448, 0], dtype=np.float32))
    assert np.isnan(to_e4m3(np.array([np.nan]))).all()


def test_any_shape_and_type_is_taken() -> None:
    assert to_e4m3(np.zeros((2, 0, 3), dtype=np.float16)).shape == (2, 0, 3)
    assert float(to_e4m3(np.array(1.06, dtype=np.float32))) == 1.0
