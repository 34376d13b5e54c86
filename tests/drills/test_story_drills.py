"""The last steps of the drift story: figures that their statements work out, and judges that can't be fooled."""

from __future__ import annotations

import re
import runpy
from functools import cache
from math import exp
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from grader import hints
from grader.drill import Drill, load_drills
from grader.kit import BadCall, Checked, faults_of, generator
from grader.matrix import digest
from grader.specimens import LEAST_CORRECT, read_specimens
from grader.suite import load_answers

DRILLS = Path(__file__).parents[2] / "drills"
IDS = ("name_the_drift", "tile_crossing_suite", "design_flash_attention")


@cache
def drill(name: str) -> Drill:
    return load_drills(DRILLS)[name]


@cache
def of(name: str) -> dict[str, Any]:
    """The names of a drill's suite."""
    return runpy.run_path(str(DRILLS / name / "suite.py"))


@pytest.mark.parametrize("name", IDS)
def test_every_part_is_there(name: str) -> None:
    specimens, problems = read_specimens(drill(name))
    mutants = [one for one in specimens if one.kind == "mutant"]
    assert not problems and len(mutants) >= 6 and len({one.ask for one in mutants}) == len(mutants)
    assert len(list((drill(name).folder / "correct").glob("*.py"))) >= LEAST_CORRECT
    assert faults_of(load_answers(drill(name)).suite) == []
    stored = hints.load_matrix(drill(name).folder)
    assert stored is not None and stored.inputs == digest(drill(name))


@pytest.mark.parametrize("name", IDS)
def test_links_lead_to_what_exists(name: str) -> None:
    linked = re.findall(r"\]\(/(cards|questions|drills)/([a-z0-9_-]+)", drill(name).statement)
    content = DRILLS.parent / "content"
    folders = {"cards": content / "concepts", "questions": content / "questions", "drills": DRILLS}
    found = [(folders[kind], item) for kind, item in linked]
    assert found and all((folder / item).is_dir() or (folder / f"{item}.md").is_file() for folder, item in found)


def test_the_story_leads_from_step_to_step() -> None:
    needs = [drill(name).needs for name in IDS]
    assert needs[0] == ("drifting_attention",) and needs[1] == ("name_the_drift",)
    assert "tile_crossing_suite" in needs[2]


# name_the_drift


def test_figures_by_hand() -> None:
    kernel, text = of("name_the_drift")["Kernel"], drill("name_the_drift").statement
    one = np.ones((1, 1), np.float32)

    def answer(fault: str, score: float) -> float:
        return float(kernel(fault, tile=16, lanes=1)(one, score * one, one)[0, 0])

    assert answer("phantom_tail", -8.0) == pytest.approx(exp(-8) / (exp(-8) + 1), rel=1e-5)
    assert f"{answer('phantom_tail', -8.0):.6f}" in text and f"{answer('phantom_tail', 8.0):.6f}" in text
    assert f"{30 / (exp(-3) + 1):.6f}" in text
    assert np.float16(1) + np.float16(2**-12) == 1


@pytest.mark.parametrize("name", ["healthy", "missing_rescale", "low_precision_state", "phantom_tail"])
def test_every_kernel_can_be_told_by_three_calls(name: str) -> None:
    suite = of("name_the_drift")
    for seed in range(60):
        made = suite["drawn"](np.random.default_rng(seed))
        kernel = suite["replace"](made, fault=name)
        asked = 0

        def counted(q: Any, k: Any, v: Any, kernel: Any = kernel) -> Any:
            nonlocal asked
            asked += 1
            return kernel(q, k, v)

        assert suite["by_measurement"](counted) == name, kernel
        assert asked <= 3 <= suite["CALLS"]


def test_kernels_differ_by_name_only_where_the_name_says() -> None:
    suite = of("name_the_drift")
    rng = np.random.default_rng(1)
    q, k, v = (rng.standard_normal(shape).astype(np.float32) for shape in ((3, 8), (128, 8), (128, 8)))
    scores = q @ k.T / np.sqrt(8)
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    exact = weights @ v / weights.sum(axis=1, keepdims=True)
    for tile in suite["TILES"]:
        healthy, missing, low, phantom = suite["Kernel"]("healthy", tile=tile).all_four(q, k, v)
        assert np.abs(healthy - exact).max() < 2e-6 and np.array_equal(healthy, phantom)  # whole tiles
        assert np.abs(low - exact).max() > 1e-5
        assert np.array_equal(missing, healthy) == (tile == 128)  # a single tile raises nothing


def test_a_hidden_case_asks_for_all_four_in_an_order_of_its_own() -> None:
    suite, orders = of("name_the_drift")["SUITE"], set()
    for seed in range(12):
        for case in suite.cases:
            if case.visible:
                continue
            play = suite.play(case, generator(bytes([seed]), "name_the_drift", case.name))
            faults = tuple(ask.args[0].function.fault for ask in play)
            assert sorted(faults) == sorted(of("name_the_drift")["NAMES"])
            orders.add(faults)
    assert len(orders) == 24


@pytest.mark.parametrize(
    "shapes", [((17, 1), (1, 1), (1, 1)), ((1, 1), (2049, 1), (2049, 1)), ((1, 65), (1, 65), (1, 65)),
               ((1, 2), (1, 1), (1, 1)), ((1, 1), (2, 1), (3, 1))]
)  # fmt: skip
def test_a_kernel_takes_no_more_than_it_can_afford(shapes: tuple[tuple[int, int], ...]) -> None:
    kernel = of("name_the_drift")["Kernel"]("healthy")
    with pytest.raises(BadCall):
        kernel(*(np.ones(shape) for shape in shapes))


# tile_crossing_suite


def test_the_statement_counts_what_the_suite_has() -> None:
    suite, text = of("tile_crossing_suite"), drill("tile_crossing_suite").statement
    assert f"**{len(suite['FAULTY'])} faulty** kernels and **{len(suite['CORRECT'])} correct**" in text
    cheapest = suite["planned"](load_answers(drill("tile_crossing_suite")).reference["cases"]())
    assert sum(case.cost for case in cheapest) == suite["LEAST_COST"] and f"known, {suite['LEAST_COST']}," in text
    assert all(f"`{name}` |" in text for name in suite["NAMES"])


@pytest.mark.parametrize(
    "path", sorted((DRILLS / "tile_crossing_suite" / "correct").glob("*.py")), ids=lambda p: p.stem
)
def test_good_suites_do_not_live_by_luck(path: Path) -> None:
    suite, value = of("tile_crossing_suite"), runpy.run_path(str(path))["cases"]()
    for root in range(12):
        report = suite["check_on"](lambda number, root=root: np.random.default_rng([root, number]))(value)
        assert report.accepted, (root, report.words)


def report_on(value: object) -> Any:
    return of("tile_crossing_suite")["check_on"](lambda number: np.random.default_rng(number))(value)


GOOD = {"q_len": 17, "kv_len": 33, "data": "rising", "tolerance": 1e-5}


@pytest.mark.parametrize(
    "value",
    [
        None, {}, "cases", 3, [None], [[GOOD]], [{**GOOD, "more": 1}], [{"q_len": 1}],
        [{**GOOD, "q_len": 0}], [{**GOOD, "q_len": -16}], [{**GOOD, "kv_len": 1.0}], [{**GOOD, "kv_len": True}],
        [{**GOOD, "kv_len": 10**12}], [{**GOOD, "data": "Rising"}], [{**GOOD, "data": ["rising"]}],
        [{**GOOD, "tolerance": 0}], [{**GOOD, "tolerance": float("nan")}], [{**GOOD, "tolerance": float("inf")}],
        [{**GOOD, "tolerance": -1e-5}], [{**GOOD, "tolerance": "1e-5"}], [{**GOOD, "tolerance": True}],
        [GOOD] * 5000, [GOOD] * 34,
    ],
)  # fmt: skip
def test_what_is_no_suite_is_refused_before_anything_runs(value: object) -> None:
    report = report_on(value)
    assert not report.accepted and not report.marks and report.words.endswith(".")


def test_the_report_says_which_kernels_live_and_no_more() -> None:
    report = report_on([GOOD])
    alive = [mark.name for mark in report.marks if not mark.ok]
    assert alive and all(re.fullmatch(r"F\d+", name) for name in alive) and report.question.endswith("?")
    secret = {kernel.axis for kernel in of("tile_crossing_suite")["FAULTY"]}
    told = " ".join([report.words, *(mark.words + mark.group for mark in report.marks)])
    assert not any(axis in told for axis in secret)
    alarmed = report_on([{**GOOD, "tolerance": 1e-12}])
    assert "refuses a kernel that is right" in alarmed.question and not alarmed.accepted


def test_a_suite_that_refuses_everything_is_refused() -> None:
    report = report_on([{**GOOD, "tolerance": 5e-324}])
    assert not report.accepted and sum(not mark.ok for mark in report.marks) == 5


# design_flash_attention


def outline_check() -> Any:
    (case,) = of("design_flash_attention")["SUITE"].cases
    ask = next(of("design_flash_attention")["play"](case, np.random.default_rng(0)))
    (output,) = ask.outputs
    assert isinstance(output, Checked)
    return output.check


def test_the_rubric_is_what_the_statement_says() -> None:
    found = drill("design_flash_attention")
    assert sum(item.points for item in found.rubric) == 20
    points = [item.points for item in found.rubric]
    assert (
        "traffic {}, tiling {}, numerics {}, failure mode {}, the whole {} points".format(*points)
        in found.statement
    )


def test_the_example_of_the_statement_is_no_answer_and_would_else_pass() -> None:
    good: Any = load_answers(drill("design_flash_attention")).reference["designOutline"]()
    (example,) = re.findall(r"^> (.+)$", drill("design_flash_attention").statement, re.MULTILINE)
    report = outline_check()({**good, "memoryTraffic": example})
    assert [mark.name for mark in report.marks if not mark.ok] == ["copied"]
    assert outline_check()(good).accepted
