"""Each universal fault gives what a kernel with that fault would return, worked out by hand on one small row."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from grader.kit import Ask, Case, Output, Values, place
from grader.universal import VALUES
from tests.grader.callers import right

X = np.array([[1.0, 3.0, -2.0], [0.0, 1.0, 5.0]])
BLOCK = 2
CASE = Case("c", "f", {"rows": 2, "cols": 3}, block=BLOCK)
NAN = np.full(1, np.nan)


def outcome(name: str, layout: str = "contiguous", x: Values = X, case: Case = CASE) -> Values | None:
    placed = place(x, "fp32", layout)
    ask = Ask("softmax", (placed,), (Output("result", placed.shape, "fp32", None, tiled_axis=1),))  # type: ignore[arg-type]
    found = VALUES[name](case, ask, right, BLOCK)
    return None if found is None else found[0]


def tail(*pad: float) -> Values:
    wide = np.concatenate([X, np.broadcast_to(pad, (2, len(pad)))], axis=1)
    return right(wide)[:, :3]


@pytest.mark.parametrize(
    ("name", "result"),
    [
        ("zeros", np.zeros((2, 3))),
        ("input_copy", X),
        ("mean_over_axis", np.full((2, 3), 1 / 3)),
        ("wrong_scale", right(X * 17 / 16)),
        ("first_row_only", np.array([right(X)[0], [0, 0, 0]])),
        ("first_tile_only", np.concatenate([right(X[:, :2]), np.zeros((2, 1))], axis=1)),
        ("last_tile_dropped", np.concatenate([right(X[:, :2]), np.zeros((2, 1))], axis=1)),
        ("phantom_zero", tail(0.0)),
        ("missing_guard", np.full((2, 3), np.nan)),
        ("contiguous_assumed", right(X)),
    ],
)
def test_values(name: str, result: Values) -> None:
    found = outcome(name)
    assert found is not None
    assert np.allclose(found, result, rtol=1e-12, atol=0, equal_nan=True)


def test_half_arithmetic_is_near_and_not_equal() -> None:
    half = outcome("half_arithmetic")
    assert half is not None
    error = np.abs(half / right(X) - 1).max()
    assert 1e-5 < error < 1e-2


def test_contiguous_assumed_shows_in_a_padded_layout() -> None:
    wrong = outcome("contiguous_assumed", "padded")
    assert wrong is not None
    assert np.allclose(wrong[0], right(X)[0])
    assert np.isnan(wrong[1]).all()


@pytest.mark.parametrize("name", ["last_tile_dropped", "phantom_zero", "missing_guard"])
def test_whole_tiles_do_not_show_it(name: str) -> None:
    assert outcome(name, x=np.ones((2, 4))) is None


@pytest.mark.parametrize(("name", "x"), [("first_tile_only", np.ones((2, 2))), ("first_row_only", np.ones((1, 3)))])
def test_one_tile_or_row_does_not_show_it(name: str, x: Values) -> None:
    assert outcome(name, x=x) is None


def test_half_arithmetic_makes_no_sense_for_half_precision() -> None:
    assert outcome("half_arithmetic", case=replace(CASE, dtype="fp16")) is None
