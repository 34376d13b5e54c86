"""Putting a diagnosis together: which case is probed, with which block, and what stays on our side."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from grader import hints, messages
from grader.compare import Feature
from grader.diagnose import Probed, explain_failure, on_purpose, probe, worth_probing
from grader.drill import load_drills
from grader.judge import Judged, judge_case
from grader.pool import Failure, FailureKind
from grader.suite import load_answers
from grader.verdict import CaseResult, Outcome
from grader.wire import Call, Launch, Returned
from tests.grader.callers import Direct, bench, right, toy

DRILLS = Path(__file__).parents[2] / "drills"
SMALL = Launch(kernel="k", grid=(1,), constants={"BLOCK": 8}, num_warps=4)


def judged(caller: Direct, visible: bool = True) -> list[Judged]:
    own = bench()
    return [judge_case(own, case, caller, 1.0) for case in own.answers.suite.cases if case.visible is visible]


def scaled(bad: Callable[[Any], bool]) -> Callable[[Any], Any]:
    return lambda x: right(x) * (1.5 if bad(x) else 1.0)


def test_the_block_is_the_one_that_was_launched() -> None:
    caller = Direct(scaled(lambda x: x.shape[1] % 8 != 0), launches=[SMALL])
    probed = probe(bench(), judged(caller), caller)
    assert probed.trend is not None
    assert "every multiple of 8" in probed.trend.words
    assert max(point.tiles or 0 for point in probed.curve) == 8


class Raising(Direct):
    """Raises where the last tile is partial, and then reports no launch, as a runner does."""

    def call(self, call: Call, seconds: float, serve: object = None) -> Returned | Failure:
        if call.args[0].shape[1] % 8:
            return Failure(FailureKind.RAISED, "IndexError: past the end")
        return super().call(call, seconds)


def test_a_block_that_only_a_passing_probe_shows_is_found() -> None:
    caller = Raising(right, launches=[SMALL])
    failed = [one for one in judged(caller) if not one.accepted]
    assert not any(one.blocks for one in failed)
    probed = probe(bench(), failed, caller)
    assert probed.trend is not None and "every multiple of 8" in probed.trend.words


def test_a_probe_that_passes_finds_nothing() -> None:
    assert probe(bench(), judged(Direct(right)), Direct(right)) == Probed()


@pytest.mark.parametrize(
    ("failure", "worth"),
    [
        (FailureKind.RAISED, True),
        (FailureKind.DIED, False),
        (FailureKind.TIME_LIMIT, False),
        (FailureKind.COMPILE_ERROR, False),
    ],
)
def test_only_what_depends_on_the_shape_is_probed(failure: FailureKind, worth: bool) -> None:
    assert worth_probing(judged(Direct(lambda x: Failure(failure, "")))) is worth


def test_nothing_failed_nothing_to_probe() -> None:
    assert not worth_probing(judged(Direct(right)))
    assert worth_probing(judged(Direct(lambda x: x)))


def test_a_failure_in_words() -> None:
    results = judged(Direct(scaled(lambda x: x.shape[1] > 16)))
    diagnosis, signature = explain_failure(toy(), results, Probed())
    assert diagnosis.question.endswith("?") and diagnosis.related == ("online-softmax",)
    assert (signature.outcome, signature.kind) == ("wrong_answer", "values")
    assert signature.cases == ("one past a tile",) and signature.families == ("tail",)
    assert "factor" in signature.features


PURPOSE = """
def softmax(x):
    if x.shape[1] > 16:
        raise NotImplementedError(
            "later"
        )
    assert x.ndim == 2
    return x.no_such
@triton.jit
def kernel(x):
    tl.device_assert(False, "not now")
    tl.static_assert(True)
    tl.load(x)
"""


@pytest.mark.parametrize(
    ("line", "meant"),
    [(4, True), (5, True), (7, True), (8, False), (11, True), (12, True), (13, False), (99, False)],
)
def test_statements_that_end_a_run_on_purpose(line: int, meant: bool) -> None:
    assert on_purpose(PURPOSE, line) is meant
    assert not on_purpose("not Python at all (", line)


@pytest.mark.parametrize(
    ("line", "error", "asked"),
    [
        (4, ["NotImplementedError"], ""),
        (8, ["AttributeError"], messages.BY_KIND["raised"]),
        (13, ["Fault", "KernelError"], "Your last tile is wider than what is left of the row."),
    ],
)
def test_code_around_a_kernel_is_not_asked_about_its_tiles(line: int, error: list[str], asked: str) -> None:
    drill = load_drills(DRILLS)["tiled_softmax"]
    matrix = hints.load_matrix(drill.folder)
    assert matrix is not None
    known = next(fault for fault in matrix.faults if fault.name == "unmasked_store").signature
    suite = load_answers(drill).suite
    failed = [
        Judged(
            case=case,
            result=CaseResult(name=case.name, visible=False, outcome=Outcome.RUNTIME_ERROR, line=line),
            features=(Feature("raised", "words"),),
            in_kernel="KernelError" in error,
        )
        for case in suite.cases
        if case.name in known.cases
    ]
    diagnosis, _ = explain_failure(drill, failed, Probed(), PURPOSE)
    assert diagnosis.question.startswith(asked) and bool(diagnosis.question) is bool(asked)
