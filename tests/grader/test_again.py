"""Which calls are asked again, and with what: other data of the same layout, integers as they were."""

from __future__ import annotations

import dataclasses
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
from grader.tensors import digest
from grader.verdict import CaseResult, Lane, Outcome
from grader.wire import Array, Replay, Returned, from_numpy, to_numpy

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


class Softmax:
    """A replayer whose kernel is right on one matrix only, or on none."""

    def __init__(self, right_on: np.ndarray | None) -> None:
        self._right_on = right_on

    def call(self, order: Replay, seconds: float) -> Returned:
        (given,) = order.args
        assert isinstance(given, Array)
        x = to_numpy(given)
        weights = np.exp(x - x.max(axis=1, keepdims=True))
        right = self._right_on is not None and np.array_equal(x, self._right_on)
        value = weights / weights.sum(axis=1, keepdims=True) + (0 if right else 0.5)
        digests = [digest(given.storage)]
        return Returned(id=order.id, value=from_numpy(value.astype(np.float32)), args_digest=digests)


@pytest.mark.parametrize("right_on_the_first", [True, False])
def test_wrong_on_other_data_alone_is_a_wrong_answer_and_no_broken_rule(right_on_the_first: bool) -> None:
    made = bench()
    rules = made.drill.rules.model_copy(update={"written_by_kernel": False})  # this one writes no evidence
    made = dataclasses.replace(made, drill=made.drill.model_copy(update={"rules": rules}))
    ask, cases = judged(made)
    (first,) = ask.args
    assert isinstance(first, Placed)
    runner = Softmax(first.values.astype(np.float32) if right_on_the_first else None)
    refuted = judge_kernels_alone(made, "", cases, runner)
    assert refuted is not None
    assert refuted.result.outcome is (Outcome.WRONG_ANSWER if right_on_the_first else Outcome.RULE_BROKEN)
