"""Shrinking and the error curve, against faults whose smallest shape is known."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from grader import shrink
from grader.judge import judge_case
from grader.kit import Axis, Case
from grader.pool import Failure, FailureKind
from grader.shrink import Point, Prober, Spent, by_tiles, cut, failing, smallest, trend
from grader.wire import Launch
from tests.grader.callers import Direct, bench, right

BASE = Case("base", "tiles", {"rows": 3, "cols": 60}, block=16)
LAUNCH = Launch(kernel="k", grid=(1,), constants={"BLOCK": 16}, num_warps=4)


def prober(function: Callable[..., object], runs: int = 20, seconds: float = 20.0) -> tuple[Prober, Direct]:
    caller = Direct(function, launches=[LAUNCH])
    run = lambda case: judge_case(bench(), case, caller, 1.0)  # noqa: E731
    return Prober(run, runs, time.perf_counter() + seconds), caller


def fault(bad: Callable[[Any], bool]) -> Callable[[Any], Any]:
    """Right, except for inputs that `bad` picks out."""
    return lambda x: right(x) * (1.5 if bad(x) else 1.0)


def found(bad: Callable[[Any], bool]) -> tuple[dict[str, int], dict[str, int] | None, int]:
    probe, caller = prober(fault(bad))
    shrunk = smallest(bench().answers.suite, BASE, probe, 16)
    assert shrunk is not None
    passing = dict(shrunk.passing.case.dims) if shrunk.passing else None
    return dict(shrunk.failing.case.dims), passing, len(caller.calls)


@pytest.mark.parametrize(
    ("bad", "failing", "passing"),
    [
        (lambda x: x.shape[1] > 16, {"rows": 1, "cols": 17}, {"rows": 1, "cols": 16}),
        (lambda x: x.shape[1] > 37, {"rows": 1, "cols": 38}, {"rows": 1, "cols": 37}),
        (lambda x: x.shape[1] % 16 != 0, {"rows": 1, "cols": 1}, {"rows": 1, "cols": 16}),
        (lambda x: x.shape[0] > 1, {"rows": 2, "cols": 1}, {"rows": 1, "cols": 60}),
        (lambda x: x.shape[0] > 2 and x.shape[1] > 16, {"rows": 3, "cols": 17}, {"rows": 3, "cols": 16}),
        (lambda x: True, {"rows": 1, "cols": 1}, None),
    ],
)
def test_the_smallest_failing_shape_and_its_neighbour(
    bad: Callable[[Any], bool], failing: dict[str, int], passing: dict[str, int] | None
) -> None:
    assert found(bad)[:2] == (failing, passing)


def test_an_axis_of_few_lengths_is_tried_at_those_only() -> None:
    axis = Axis("rows", "row", "rows", only=(16, 32, 64, 128))
    tried: list[int] = []

    class Asked:
        def at(self, case: Case) -> Any:
            tried.append(case.dims["rows"])
            return SimpleNamespace(ok=case.dims["rows"] < 64, case=case)

    found, passing = shrink._least(axis, replace(BASE, dims={"rows": 128, "cols": 60}), Asked(), 16)  # type: ignore[arg-type]
    assert (found.dims["rows"], passing.case.dims["rows"]) == (64, 32)  # type: ignore[union-attr]
    assert set(tried) == {16, 32, 64}


def test_settings_tell_probes_apart() -> None:
    names = {shrink._probe_name(replace(BASE, settings={"causal": causal})) for causal in (True, False)}
    assert len(names) == 2


def test_never_more_than_twenty_runs() -> None:
    probe, caller = prober(fault(lambda x: x.shape[1] > 999))
    huge = BASE.resized("cols", 100_000)
    smallest(bench().answers.suite, huge, probe, 16)
    assert len(caller.calls) <= shrink.SHRINK_RUNS


def test_what_passes_on_public_data_is_not_shrunk() -> None:
    probe, _ = prober(right)
    assert smallest(bench().answers.suite, BASE, probe, 16) is None


def test_the_same_shape_is_run_once() -> None:
    probe, caller = prober(right)
    assert probe.at(BASE) is probe.at(BASE)
    assert len(caller.calls) == 1


def test_time_ends_it() -> None:
    probe, _ = prober(right, seconds=-1.0)
    with pytest.raises(Spent):
        probe.at(BASE)


def test_a_lost_runner_ends_it() -> None:
    probe, _ = prober(lambda x: Failure(FailureKind.DIED, ""))
    assert not probe.at(BASE).ok
    probe.allow(5)
    with pytest.raises(Spent):
        probe.at(BASE.resized("cols", 3))


@pytest.mark.parametrize(
    ("cols", "block", "length"), [(48, 64, 192), (49, 64, 193), (60, 8, 31), (5, 4, 3), (60, 16, 60)]
)
def test_a_probe_is_cut_to_the_launched_block(cols: int, block: int, length: int) -> None:
    """BASE is written for a block of 16: whole tiles stay whole tiles, a rest stays a rest."""
    assert cut(bench().answers.suite, BASE.resized("cols", cols), block).dims == {"rows": 3, "cols": length}


def test_those_probes_that_fail() -> None:
    cases = [BASE.resized("cols", cols) for cols in (16, 17, 32, 33)]
    probe, _ = prober(fault(lambda x: x.shape[1] % 16 == 1))
    assert [case.dims["cols"] for case in failing(cases, probe)] == [17, 33]
    short, _ = prober(fault(lambda x: x.shape[1] % 16 == 1), runs=2)
    assert [case.dims["cols"] for case in failing(cases, short)] == [17]


def test_a_problem_of_ours_ends_it() -> None:
    unheard_of = cast("FailureKind", "unheard_of")  # every kind there is has an outcome; one that has none is ours
    probe, _ = prober(lambda x: Failure(unheard_of, ""))
    with pytest.raises(Spent):
        probe.at(BASE)


def curve(function: Callable[[Any], Any]) -> str:
    probe, _ = prober(function)
    points = [point for point, _ in by_tiles(bench().answers.suite, BASE.resized("rows", 1), probe, 16)]
    assert [p.length for p in points] == sorted(p.length for p in points)
    seen = trend(points)
    return seen.key if seen else ""


def scaled(factor: Callable[[int], float]) -> Callable[[Any], Any]:
    return lambda x: right(x) * (1 + factor(x.shape[1]))


@pytest.mark.parametrize(
    ("factor", "key"),
    [
        (lambda n: 0.0, ""),
        (lambda n: 0.5, "everywhere"),
        (lambda n: 0.01 * -(-n // 16), "grows"),
        (lambda n: 0.5 if n % 16 else 0.0, "partial"),
        (lambda n: 0.5 if n % 16 and n > 16 else 0.0, "partial_after_whole"),
        (lambda n: 0.5 if n > 16 else 0.0, "second_tile"),
        (lambda n: 0.01 * (-(-n // 16) - 1), "second_tile_grows"),
        (lambda n: 0.5 if n > 64 else 0.0, "beyond"),
        (lambda n: 0.0 if n % 16 else 0.5, "whole"),
        (lambda n: 0.5 if n in (32, 33, 1) else 0.0, "mixed"),
    ],
)
def test_trends(factor: Callable[[int], float], key: str) -> None:
    assert curve(scaled(factor)) == key


def test_too_few_points_have_no_trend() -> None:
    assert trend([Point(16, 16, False, 3.0)] * 3) is None


def test_nan_everywhere_is_everywhere() -> None:
    assert curve(lambda x: np.full_like(x, np.nan)) == "everywhere"
