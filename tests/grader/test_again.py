"""Which calls are asked again, and with what: other data of the same layout, integers as they were."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from grader import again
from grader.again import judge_kernels_alone
from grader.drill import load_drills
from grader.judge import Bench, Judged
from grader.kit import Ask, Placed, generator
from grader.pool import Failure, FailureKind
from grader.suite import load_answers
from grader.verdict import CaseResult, Lane, Outcome
from grader.wire import Replay, Returned, to_numpy

SEED = b"secret"


class Listener:
    """Stands where a replayer would, and answers every order with `answer`."""

    def __init__(self, answer: Failure) -> None:
        self.orders: list[Replay] = []
        self._answer = answer

    def call(self, order: Replay, seconds: float) -> Failure:
        self.orders.append(order)
        return self._answer


def bench() -> Bench:
    drill = load_drills(Path(__file__).parents[2] / "drills")["tiled_softmax"]
    return Bench(drill, load_answers(drill), Lane.CPU, SEED)


def judged(made: Bench) -> tuple[Ask, list[Judged]]:
    case = next(case for case in made.answers.suite.cases if case.name == "three short rows")
    ask = next(made.answers.suite.play(case, generator(SEED, made.drill.id, case.name)))
    result = CaseResult(name=case.name, visible=True, outcome=Outcome.ACCEPTED, error=0.1)
    return ask, [Judged(case=case, result=result, calls=((ask, Returned(id=0, value=None)),))]


@pytest.mark.parametrize(
    ("kind", "outcome"),
    [
        (FailureKind.RAISED, Outcome.RULE_BROKEN),
        (FailureKind.REFUSED, Outcome.RULE_BROKEN),
        (FailureKind.DIED, Outcome.RULE_BROKEN),
        (FailureKind.OUT_OF_MEMORY, Outcome.RULE_BROKEN),
        (FailureKind.TIME_LIMIT, Outcome.TIME_LIMIT),
        (FailureKind.MALFORMED, Outcome.GRADER_PROBLEM),
    ],
)
def test_no_answer_is_never_accepted(kind: FailureKind, outcome: Outcome) -> None:
    made = bench()
    _, cases = judged(made)
    refuted = judge_kernels_alone(made, "", cases, Listener(Failure(kind, "why")))
    assert refuted is not None and refuted.result.outcome is outcome
    assert bool(refuted.problem) is (outcome is Outcome.GRADER_PROBLEM)


def test_the_data_are_other_data_of_the_same_layout() -> None:
    made = bench()
    ask, cases = judged(made)
    listener = Listener(Failure(FailureKind.RAISED, "why"))
    judge_kernels_alone(made, "the file", cases, listener)
    (order,) = listener.orders
    (before,), (after,) = ask.args, order.args
    assert isinstance(before, Placed) and order.source == "the file"
    assert (after.dtype, after.shape, after.strides) == (before.dtype, before.shape, before.strides)
    assert not np.array_equal(to_numpy(after), before.values.astype(np.float32))


def test_calls_that_there_was_no_time_for_are_not_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(again, "SECONDS", 0.0)
    made = bench()
    _, cases = judged(made)
    listener = Listener(Failure(FailureKind.RAISED, "why"))
    refuted = judge_kernels_alone(made, "", cases, listener)
    assert refuted is not None and refuted.result.outcome is Outcome.TIME_LIMIT
    assert listener.orders == []
