"""A loop tile by tile: what a program carries is read right, and what parts from what it should be is found."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from grader import wire
from grader.drill import load_drills
from grader.grade import Grading
from grader.kit import RunningRow
from grader.pool import Failure, Limits, Pool
from grader.verdict import Decided, Held, Lane, TileStep, Verdict, Walk
from grader.walk import Reading, _compared
from grader.walker import walk

DRILLS = Path(__file__).parents[2] / "drills"
KERNEL = """
import triton
import triton.language as tl

open("/proc/self/nothing")  # host code, which must not run

@triton.jit
def sums(x, out, rows, cols, R: tl.constexpr, B: tl.constexpr):
    at = tl.program_id(0) * R + tl.arange(0, R)
    m = tl.full((R,), -float("inf"), tl.float32)
    l = tl.zeros((R,), tl.float32)
    for start in range(0, cols, B):
        c = start + tl.arange(0, B)
        inside = (at[:, None] < rows) & (c[None, :] < cols)
        v = tl.load(x + at[:, None] * cols + c[None, :], mask=inside, other=-float("inf"))
        new = tl.maximum(m, tl.max(v, axis=1))
        alpha = tl.exp(m - new)
        l = l * alpha + tl.sum(tl.exp(v - new[:, None]), axis=1)
        m = new
    tl.store(out + at[:, None] + tl.arange(0, 1)[None, :], l[:, None], mask=at[:, None] < rows)
"""
X = np.arange(50, dtype=np.float32).reshape(5, 10) % 7


def order(source: str = KERNEL, row: int = 3, **changes: Any) -> wire.Walk:
    place = {
        "x": wire.Pointer(memory="arg0", dtype="fp32", shape=(5, 10), strides=(10, 1), offset=0),
        "out": wire.Pointer(memory="tmp1", dtype="fp32", shape=(5, 1), strides=(1, 1), offset=0),
    }
    launch = wire.Launch(
        kernel="sums",
        grid=(3,),
        constants={},
        num_warps=4,
        arguments={**place, "rows": 5, "cols": 10, "R": 2, "B": 4},
    )
    given: dict[str, Any] = {
        "launches": [launch],
        "memories": {"arg0": 200, "tmp1": 20},
        "stored": "tmp1",
        "element": row,
        "reading": "arg0",
    }
    return wire.Walk(id=4, source=source, args=[wire.from_numpy(X)], **given | changes)


@pytest.fixture(scope="module")
def watchers() -> Iterator[Pool]:
    with Pool(framework="kernels", limits=Limits(memory_bytes=200 << 20)) as made:
        yield made


@pytest.mark.parametrize("row", range(5))
def test_a_row_is_found_with_its_program_its_state_and_what_it_loaded(row: int) -> None:
    answer = walk(order(row=row))
    assert isinstance(answer, wire.Walked), answer
    assert (answer.program, answer.carried) == ((row // 2, 0, 0), ["l", "m"])
    assert [turn.index for turn in answer.turns] == [0, 4, 8]
    for turn, end in zip(answer.turns, (4, 8, 10), strict=True):
        seen = X[row, :end].astype(np.float64)
        assert turn.state["m"] == [seen.max()]
        assert turn.state["l"] == [pytest.approx(np.exp(seen - seen.max()).sum(), rel=1e-5)]
        # The program loads its two rows; of this one, the columns of the tile.
        assert any(a <= row * 10 + turn.index and row * 10 + end <= b for a, b in turn.loaded)
        assert "x" not in turn.state


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"element": 4000}, "no kernel stores"),
        ({"stored": "nowhere"}, "no kernel stores"),
        ({"launches": []}, "no kernel stores"),
        ({"memories": {"arg0": 200, "tmp1": 1 << 60}}, "too large"),
        ({"memories": {}}, "does not exist"),
    ],
)
def test_what_cannot_be_watched_is_said(changes: dict[str, Any], words: str) -> None:
    answer = walk(order(**changes))
    assert isinstance(answer, wire.Failed)
    assert words in answer.message


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (KERNEL.replace("for start in range(0, cols, B):", "if True:\n        start = 0"), "no loop"),
        ("x = (", "SyntaxError"),
        (KERNEL.replace("def sums", "def other"), "cannot be launched"),
    ],
)
def test_kernels_without_a_plain_loop_have_none_to_show(source: str, words: str) -> None:
    answer = walk(order(source))
    assert isinstance(answer, wire.Failed)
    assert words in answer.message


def test_endless_loops_and_wide_rows_are_cut() -> None:
    answer = walk(order(KERNEL.replace("range(0, cols, B)", "range(0, cols * 1000, B)")))
    assert isinstance(answer, wire.Walked)
    assert (len(answer.turns), answer.cut) == (64, True)
    assert answer.turns[-1].index == 63 * 4


HOSTILE = {
    "two thousand million turns": KERNEL.replace("range(0, cols, B)", "range(0, 2000000000)"),
    "a loop without an end": KERNEL.replace(
        "        m = new\n", "        m = new\n        while start >= 0:\n            start += 0\n"
    ),
    "a tile of 2^30 elements": KERNEL.replace(
        "    l = tl", "    big = tl.zeros((1 << 15, 1 << 15), tl.float32) + 1.0\n    l = tl"
    ),
    "a constant with a text of its own": KERNEL.replace("        m = new\n", "        m = new + ODD\n").replace(
        "@triton",
        "class Odd:\n    def __repr__(self):\n        return 'x' * 9\n\nODD = tl.constexpr(Odd())\n\n@triton",
    ),
}


@pytest.mark.sandbox
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_kernel_ends_in_a_failure_that_shows_nothing(watchers: Pool, name: str) -> None:
    assert HOSTILE[name] != KERNEL
    with watchers.take() as runner:
        started = time.monotonic()
        answer = runner.walk(order(HOSTILE[name]), 1.0)
        assert time.monotonic() - started < 30
        assert isinstance(answer, Failure), answer
        assert answer.kind == "time_limit" if "loop" in name or "turns" in name else True
        assert len(answer.message) < 5000


# What is compared.

SCORES = np.array([0.0, 2.0, 1.0, 5.0, 4.0])
ROW = RunningRow(SCORES, np.eye(5)[:, :2], 1, np.arange(5) * 10)


def turned(index: int, **state: float | list[float]) -> wire.Turn:
    values = {name: value if isinstance(value, list) else [value] for name, value in state.items()}
    return wire.Turn(index=index, state=values, loaded=[(index * 20, index * 20 + 20)])


def right(end: int, base: float | None = None, unit: float = 1.0) -> dict[str, Any]:
    base = SCORES[:end].max() if base is None else base
    weights = np.exp(SCORES[:end] - base)
    return {"m": base * unit, "l": weights.sum(), "acc": list(weights @ np.eye(5)[:end, :2])}


def compared(*turns: wire.Turn) -> tuple[tuple[TileStep, ...], str, str]:
    walked = wire.Walked(id=0, kernel="k", line=1, program=(0, 0, 0), carried=["acc", "l", "m"], turns=list(turns))
    return _compared(walked, ROW, 1e-4)


def marks(turns: tuple[TileStep, ...]) -> list[list[str]]:
    return [[held.name for held in turn.held if held.parts] for turn in turns]


def test_a_right_loop_has_no_marks() -> None:
    turns, unit, missed = compared(*(turned(n, **right(min(2 * n + 2, 5))) for n in range(3)))
    assert (marks(turns), unit, missed) == ([[], [], []], "", "")
    assert [turn.keys for turn in turns] == ["0–1", "2–3", "4"]
    roles = {held.role: held for held in turns[1].held}
    assert roles["factor"] == Held(role="factor", name="", yours=(), should=("0.049787",), parts=False)
    assert roles["accumulator"].yours == roles["accumulator"].should


def test_a_maximum_in_base_two_is_as_right() -> None:
    turns, unit, _ = compared(*(turned(n, **right(min(2 * n + 2, 5), unit=1.4426950408889634)) for n in range(3)))
    assert (marks(turns), unit) == ([[], [], []], "in base two")


def test_what_is_wrong_is_marked_where_it_begins() -> None:
    wrong = [right(min(2 * n + 2, 5)) for n in range(3)]
    wrong[1]["acc"] = [9.0, 9.0]
    wrong[2]["l"] = float("nan")
    turns, _, _ = compared(*(turned(n, **state) for n, state in enumerate(wrong)))
    assert marks(turns) == [[], ["acc"], ["l"]]


def test_sum_and_values_are_told_relative_to_the_maximum_that_is_held() -> None:
    turns, _, _ = compared(turned(0, **right(2)), turned(1, **right(4, base=1.0)))
    assert marks(turns) == [[], ["m"]]


def test_keys_that_no_turn_loads_are_said() -> None:
    assert compared(turned(0, **right(2)), turned(1, **right(4)))[2] == "4"


def test_values_that_are_not_finite_do_no_harm() -> None:
    nowhere: dict[str, Any] = {"m": float("-inf"), "l": float("nan"), "acc": [float("inf"), float("-inf")]}
    turns, _, _ = compared(turned(0, **nowhere))
    assert marks(turns) == [["m", "l", "acc"]]
    assert [held.yours for held in turns[0].held] == [("−∞",), (), ("NaN",), ("∞", "−∞")]


def test_names_are_read_as_kernels_use_them() -> None:
    state = {"row_max": [1.0], "denominator": [1.0], "o": [1.0] * 4, "alpha": [1.0], "step": [1.0]}
    walked = wire.Walked(
        id=0, kernel="k", line=1, program=(0, 0, 0), carried=["denominator", "o", "row_max", "step"],
        turns=[wire.Turn(index=0, state=state, loaded=[])],
    )  # fmt: skip
    assert Reading.of(walked, 4) == Reading("row_max", "denominator", "alpha", "o")


# From a submission to the verdict.


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with Pool(Lane.CPU, 1) as made:
        yield made


def verdict(pool: Pool, drill: str, file: str) -> Verdict:
    found = load_drills(DRILLS)[drill]
    grading = Grading(found, (found.folder / file).read_text(), Lane.CPU, pool, b"seed", visible_only=True)
    decided = list(grading.events())[-1]
    assert isinstance(decided, Decided)
    return decided.verdict


def walk_of(pool: Pool, drill: str, file: str) -> Walk:
    found = verdict(pool, drill, file)
    assert found.diagnosis is not None and found.diagnosis.walk is not None, found
    return found.diagnosis.walk


@pytest.mark.sandbox
def test_the_drifting_starter_parts_at_its_second_tile_in_the_accumulator_alone(pool: Pool) -> None:
    shown = walk_of(pool, "drifting_attention", "starter.py")
    assert (shown.parts_at, shown.unit, shown.missed, shown.index[:2]) == (1, "in base two", "", (0, 0))
    assert [[held.name for held in turn.held if held.parts] for turn in shown.turns] == [
        [],
        ["acc"],
        ["acc"],
        ["acc"],
    ]
    assert {held.name for held in shown.turns[0].held} == {"m", "", "l", "acc"}
    source = (DRILLS / "drifting_attention" / "starter.py").read_text().splitlines()
    assert shown.line is not None and source[shown.line - 1].strip().startswith("for ")


@pytest.mark.sandbox
@pytest.mark.parametrize(
    ("drill", "mutant", "name"),
    [
        ("tiled_softmax", "no_rescale", "l"),
        ("drifting_attention", "half_sum", "l"),
        ("drifting_attention", "half_state", "acc"),
        ("drifting_attention", "sum_not_rescaled", "l"),
        ("fused_attention", "no_rescale", "acc"),
    ],
)
def test_a_fault_of_the_state_is_marked_in_the_variable_that_has_it(
    pool: Pool, drill: str, mutant: str, name: str
) -> None:
    shown = walk_of(pool, drill, f"mutants/{mutant}.py")
    assert shown.parts_at is not None
    assert name in [held.name for held in shown.turns[shown.parts_at].held if held.parts]


@pytest.mark.sandbox
@pytest.mark.parametrize("mutant", ["first_tile_only", "last_tile_dropped"])
def test_a_loop_that_ends_early_is_right_so_far_and_misses_keys(pool: Pool, mutant: str) -> None:
    shown = walk_of(pool, "drifting_attention", f"mutants/{mutant}.py")
    assert shown.parts_at is None
    assert shown.missed
