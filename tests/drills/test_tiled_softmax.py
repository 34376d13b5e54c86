"""`tiled_softmax`: the verdicts of a few files in the real sandbox, and what they teach.

That every specimen meets its verdict is the publication gate's work, which `make test` runs before the tests.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from grader import hints
from grader.check import MARGIN, _complaints, _run
from grader.drill import Drill, load_drills
from grader.kit import faults_of
from grader.matrix import digest
from grader.pool import Pool
from grader.specimens import Ran, read_specimens
from grader.suite import load_answers
from grader.verdict import Lane, Outcome, encode

DRILLS = Path(__file__).parents[2] / "drills"


@cache
def drill() -> Drill:
    return load_drills(DRILLS)["tiled_softmax"]


SPECIMENS = {f"{s.kind}/{s.name}": s for s in read_specimens(drill())[0]}


# One for each way to end: right, wrong by state, wrong by padding, a rule counted, a rule of provenance.
FEW: tuple[str, ...] = (
    "correct/online",
    "correct/one_tile",
    "mutant/no_rescale",
    "mutant/phantom_zero",
    "mutant/three_loads",
)
FEW += ("mutant/library_call", "mutant/overwritten")


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with Pool(Lane.CPU, size=1) as pool:
        yield pool


def stored_fault(name: str) -> hints.KnownFault:
    stored = hints.load_matrix(drill().folder)
    assert stored is not None
    return next(fault for fault in stored.faults if fault.name == name)


def most_alike(found: Ran) -> set[str]:
    """The questions of the stored faults that look most like this one; its own is among them."""
    stored = hints.load_matrix(drill().folder)
    assert stored is not None and found.signature is not None
    alike = {fault.ask: hints.likeness(found.signature, fault.signature) for fault in stored.faults}
    best = {ask for ask, likeness in alike.items() if likeness == max(alike.values())}
    assert found.specimen.ask in best
    return best


@pytest.mark.sandbox
@pytest.mark.parametrize("name", FEW)
def test_verdict(name: str, pool: Pool) -> None:
    specimen = SPECIMENS[name]
    found = _run(drill(), specimen, lambda _: pool)
    assert [str(problem) for problem in _complaints(drill(), found)] == []
    verdict = found.verdict
    if specimen.kind == "correct":
        assert found.worst <= MARGIN
        assert {moved.tensor for moved in verdict.traffic} == {"x", "result"}
        assert all(moved.loaded <= 2 * moved.least_loaded for moved in verdict.traffic if moved.tensor == "x")
        assert all(moved.stored == moved.least_stored for moved in verdict.traffic)
    else:
        assert verdict.diagnosis is not None and verdict.diagnosis.question.endswith("?")
    if specimen.kind == "mutant":
        assert verdict.outcome in specimen.expect
        assert verdict.diagnosis is not None and verdict.diagnosis.question in most_alike(found)
        assert stored_fault(specimen.name).signature.cases == tuple(
            one.case.name for one in found.judged if not one.accepted
        )
        assert specimen.name not in encode(verdict).decode(), "the fault is not named, only asked about"


@pytest.mark.sandbox
def test_the_starter_is_right_for_short_rows_and_refused_for_the_rest(pool: Pool) -> None:
    found = _run(drill(), SPECIMENS["starter/starter"], lambda _: pool)
    passed = {one.case.name for one in found.judged if one.accepted and one.case.visible}
    assert {"one element", "three short rows", "exactly one tile"} <= passed
    diagnosis = found.verdict.diagnosis
    assert diagnosis is not None and diagnosis.smallest_failing and diagnosis.nearest_passing
    assert "65 columns" in diagnosis.smallest_failing.shape
    assert "64 columns" in diagnosis.nearest_passing.shape
    assert found.verdict.outcome is Outcome.WRONG_ANSWER


# What needs no sandbox.


def test_the_stored_matrix_is_of_these_cases_and_mutants() -> None:
    stored = hints.load_matrix(drill().folder)
    assert stored is not None
    suite = load_answers(drill()).suite
    assert stored.cases == tuple(case.name for case in (*suite.cases, *suite.around(())))
    mutants = [specimen for specimen in SPECIMENS.values() if specimen.kind == "mutant"]
    said = [(s.name, s.what, s.ask, " | ".join(s.expect)) for s in mutants]
    assert [(fault.name, fault.what, fault.ask, fault.expect) for fault in stored.faults] == said
    assert stored.inputs == digest(drill())


def test_enough_specimens() -> None:
    kinds = [specimen.kind for specimen in SPECIMENS.values()]
    assert kinds.count("mutant") >= 10
    assert kinds.count("correct") >= 4


def test_every_question_leads_to_one_fault_only() -> None:
    asks = [specimen.ask for specimen in SPECIMENS.values() if specimen.kind == "mutant"]
    assert len(set(asks)) == len(asks)


def test_the_suite_covers_the_axes() -> None:
    suite = load_answers(drill()).suite
    assert faults_of(suite) == []
    lengths = {case.dims["cols"] for case in suite.cases}
    assert {1, 63, 64, 65, 127, 128, 129, 193} <= lengths and max(lengths) > 2048
    assert {case.dtype for case in suite.cases} == {"fp32", "fp16", "bf16"}
    assert {case.layout for case in suite.cases} == {"contiguous", "padded", "expanded"}
    assert len({case.data for case in suite.cases if not case.visible}) >= 12


@pytest.mark.parametrize("blocks", [(), (16,), (64,), (128, 4), (1024,), (8, 64, 256, 4096)])
def test_cases_around_what_was_launched(blocks: tuple[int, ...]) -> None:
    cases = load_answers(drill()).suite.around(blocks)
    assert len(cases) == len(load_answers(drill()).suite.around(()))
    block = {(): 64, (128, 4): 128, (8, 64, 256, 4096): 4096}.get(blocks, blocks[0] if blocks else 64)
    assert {block - 1, block + 1, 2 * block - 1, 3 * block + 1, 5 * block} <= {case.dims["cols"] for case in cases}


def test_the_statement_works_its_example_right() -> None:
    text = drill().statement
    row = np.array([1.0, 3.0, 7.0, -2.0])
    first = np.exp(-2) + 1
    total = first * np.exp(-4) + 1 + np.exp(-9)
    weights = np.exp(row - 7) / total
    for number in (
        first,
        np.exp(-4),
        first * np.exp(-4),
        1 + np.exp(-9),
        total,
        *weights,
        1 / (first + 1 + np.exp(-9)),
    ):
        assert f"{number:.6f}" in text, f"{number:.6f}"
    assert f"{first + 1 + np.exp(-9):.6f}" in text
    assert len(re.findall(r"/cards/[a-z-]+", text)) >= 2
