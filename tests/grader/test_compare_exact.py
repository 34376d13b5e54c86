"""Plain results: equal in value and type, or what stands out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from grader.compare_exact import compare_exactly
from grader.wire import Other, from_numpy


@pytest.mark.parametrize(
    ("actual", "expected"),
    [
        (131_072, 131_072),
        (from_numpy(np.array(131_072)), 131_072),
        (0, 0),
        ("flash", "flash"),
        (True, True),
        (["a", "b"], ("a", "b")),
        ({"b": [1], "a": 2}, {"a": 2, "b": [1]}),
    ],
)
def test_the_same_value_of_the_same_type_is_accepted(actual: object, expected: object) -> None:
    found = compare_exactly("result", actual, expected)
    assert found.accepted and found.error == 0.0


@pytest.mark.parametrize(
    ("actual", "expected", "key"),
    [
        (4.0, 4, "right_number"),
        (True, 1, "type"),
        (1, True, "type"),
        (None, 4, "type"),
        ("4", 4, "type"),
        (from_numpy(np.array(4.0)), 4, "type"),
        (from_numpy(np.array([4])), 4, "type"),
        (Other(type_name="fractions.Fraction"), 4, "type"),
        (12, 4, "times_3"),
        (1, 4, "part_4"),
        (5, 4, "one_off"),
        (0, 4, "zero"),
        (4, 0, "not_zero"),
        (9, 4, "too_large"),
        (3, 7, "too_small"),
        (["b", "a"], ["a", "b"], "order"),
        (["a"], ["a", "b"], "length"),
        ({"a": 1}, {"a": 1, "b": 2}, "keys"),
        ({"a": 1, "b": 3}, {"a": 1, "b": 2}, "entry_b"),
    ],
)
def test_what_differs_is_refused_and_named(actual: Any, expected: Any, key: str) -> None:
    found = compare_exactly("result", actual, expected)
    assert not found.accepted and found.error is None
    assert key in [feature.key for feature in found.features]
    assert found.mismatch is not None and found.mismatch.wrong >= 1


def test_the_first_difference_is_named_with_its_place() -> None:
    found = compare_exactly("plan", {"q": "row", "o": "row"}, {"q": "column", "o": "row"})
    assert found.mismatch is not None
    assert (found.mismatch.output, found.mismatch.expected, found.mismatch.actual) == (
        "plan['q']",
        "'column'",
        "'row'",
    )
    assert (found.mismatch.wrong, found.mismatch.total) == (1, 2)
    listed = compare_exactly("ranking", ["a", "c"], ["a", "b", "c"])
    assert listed.mismatch is not None and listed.mismatch.first.index == (1,)
    assert (listed.mismatch.wrong, listed.mismatch.actual) == (2, "'c'")


def test_a_value_is_written_for_people() -> None:
    found = compare_exactly("bytes", -131_072, 131_072)
    assert found.mismatch is not None
    assert (found.mismatch.actual, found.mismatch.expected) == ("−131,072", "131,072")
    hostile = compare_exactly("name", "\u202eevil" * 100, "a")
    assert hostile.mismatch is not None and "\u202e" not in hostile.mismatch.actual
    assert len(hostile.mismatch.actual) < 200


def test_nan_is_never_equal() -> None:
    assert not compare_exactly("x", [float("nan")], [0.0]).accepted
    assert not compare_exactly("x", float("nan"), 0.0).accepted
