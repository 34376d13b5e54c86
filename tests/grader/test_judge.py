"""One case, judged: every kind of reply has its outcome, and nothing is accepted by default."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from grader.drill import Rules
from grader.judge import Judged, explain, judge_case
from grader.kit import Ask, Case, Output, Play, Tolerance, Values, place, tolerance
from grader.pool import Failure, FailureKind
from grader.suite import Answers
from grader.verdict import Outcome
from grader.wire import Array, Call, Launch, Other, Returned, from_numpy
from tests.grader.callers import Direct, bench, right, toy

TAIL = Case("tail", "tail", {"rows": 2, "cols": 17}, block=16, visible=True)
STRIDED = replace(TAIL, name="strided", layout="padded")


def judge(function: Callable[..., object] | Direct, case: Case = TAIL, **changes: Any) -> Judged:
    caller = function if isinstance(function, Direct) else Direct(function)
    return judge_case(bench(toy(**changes)), case, caller, 1.0)


def test_a_right_answer_is_accepted_and_says_by_how_much() -> None:
    judged = judge(right)
    assert judged.accepted
    assert judged.result.error is not None and 0.0 <= judged.result.error < 0.1
    assert (judged.result.shape, judged.result.data) == ("2 rows × 17 columns", "normal values")


def test_strided_input_arrives_as_a_view() -> None:
    caller = Direct(right)
    assert judge(caller, STRIDED).accepted
    (call,) = caller.calls
    assert isinstance(call.args[0], Array) and call.args[0].strides == (24, 1)


def late(x: Any) -> Failure:
    return Failure(FailureKind.TIME_LIMIT, "late")


def crashed(x: Any) -> Failure:
    return Failure(FailureKind.DIED, "gone")


def raised(x: Any) -> Failure:
    return Failure(FailureKind.RAISED, "ValueError: no", 'File "submission.py", line 3', 3)


def writes_input(x: Any) -> Any:
    result = right(x)
    x[0, 0] = 5.0
    return result


def writes_guard(x: Any) -> Any:
    result = right(x)
    np.lib.stride_tricks.as_strided(x, (40,), (4,))[39] = 0.0
    return result


@pytest.mark.parametrize(
    ("function", "outcome", "words"),
    [
        (lambda x: np.full_like(x, np.nan), Outcome.WRONG_ANSWER, "All 34 elements"),
        (lambda x: np.zeros_like(x), Outcome.WRONG_ANSWER, "All 34 elements"),
        (lambda x: right(x).astype(np.float64), Outcome.WRONG_ANSWER, "type fp64, it should be fp32"),
        (lambda x: right(x)[:, :16].copy(), Outcome.WRONG_ANSWER, "shape (2, 16), it should be (2, 17)"),
        (lambda x: right(x)[None], Outcome.WRONG_ANSWER, "shape (1, 2, 17)"),
        (lambda x: None, Outcome.WRONG_ANSWER, "returned None"),
        (lambda x: [from_numpy(right(x))], Outcome.WRONG_ANSWER, "returned a list or tuple"),
        (lambda x: 1.0, Outcome.WRONG_ANSWER, "a value of type float"),
        (lambda x: Other(type_name="Evil\x1b[31m"), Outcome.WRONG_ANSWER, "type Evil\ufffd[31m"),
        (writes_input, Outcome.RULE_BROKEN, "Argument 1 was changed"),
        (writes_guard, Outcome.RULE_BROKEN, "memory beside it was written"),
        (late, Outcome.TIME_LIMIT, "10 s"),
        (crashed, Outcome.RUNTIME_ERROR, "ended without returning"),
        (raised, Outcome.RUNTIME_ERROR, "ValueError: no\nFile"),
        (lambda x: Failure(FailureKind.OUT_OF_MEMORY, ""), Outcome.OUT_OF_MEMORY, "512 MiB"),
        (lambda x: Failure(FailureKind.OUTPUT_LIMIT, ""), Outcome.OUTPUT_LIMIT, "256 KiB"),
        (lambda x: Failure(FailureKind.COMPILE_ERROR, "bad kernel"), Outcome.COMPILE_ERROR, "bad kernel"),
        (lambda x: Failure(FailureKind.MISSING_ENTRY, "no softmax"), Outcome.COMPILE_ERROR, "no softmax"),
        (lambda x: Failure(FailureKind.REFUSED, "no"), Outcome.RUNTIME_ERROR, "does not allow"),
        (
            lambda x: Failure(FailureKind.MALFORMED, "garbage"),
            Outcome.RULE_BROKEN,
            "no answer to what it was asked",
        ),
    ],
)
def test_what_is_not_accepted(function: Callable[..., object], outcome: Outcome, words: str) -> None:
    judged = judge(function)
    assert judged.result.outcome is outcome
    assert words in judged.result.detail
    assert not judged.accepted


def test_every_kind_of_failure_has_an_outcome_and_words() -> None:
    for kind in FailureKind:
        outcome, words = explain(Failure(kind, "message"), toy(), 2.0)
        assert outcome is not Outcome.ACCEPTED
        assert outcome is not Outcome.GRADER_PROBLEM, "nobody is at fault for it but the code that was loaded"
        assert words


def test_an_unknown_kind_of_failure_is_our_problem() -> None:
    judged = judge(lambda x: Failure("new kind", "?"))  # type: ignore[arg-type]
    assert judged.result.outcome is Outcome.GRADER_PROBLEM
    assert "new kind" in judged.problem
    assert judged.runner_lost


def test_a_failure_keeps_its_line() -> None:
    assert judge(raised).result.line == 3
    assert not judge(raised).runner_lost
    assert judge(crashed).runner_lost


def test_the_call_limit_and_the_total_limit_are_told_apart() -> None:
    assert "10 s, and that time was used up" in explain(Failure(FailureKind.TIME_LIMIT, ""), toy(), 0.5)[1]
    assert "still running after 2 s" in explain(Failure(FailureKind.TIME_LIMIT, ""), toy(), 2.0)[1]


def test_a_reply_to_another_call_is_our_problem() -> None:
    class Stale(Direct):
        def call(self, call: Call, seconds: float, serve: object = None) -> Returned | Failure:
            return Returned(id=call.id + 1, value=None)

    assert judge(Stale(right)).result.outcome is Outcome.GRADER_PROBLEM


@pytest.mark.parametrize("digests", [[], ["0" * 64] * 2])
def test_missing_digests_are_our_problem(digests: list[str]) -> None:
    judged = judge(Direct(right, digests=digests))
    assert judged.result.outcome is Outcome.GRADER_PROBLEM
    assert "digests" in judged.problem


def test_wrong_digest_means_changed() -> None:
    assert judge(Direct(right, digests=["0" * 64])).result.outcome is Outcome.RULE_BROKEN


def test_rules_come_after_values() -> None:
    rules = Rules(written_by_kernel=True)
    assert judge(right, framework="triton", rules=rules).result.outcome is Outcome.RULE_BROKEN
    wrong = judge(lambda x: right(x) * 2, framework="triton", rules=rules)
    assert wrong.result.outcome is Outcome.WRONG_ANSWER


def test_tiles_come_from_what_was_launched() -> None:
    launch = Launch(kernel="k", grid=(2,), constants={"BLOCK": 8}, num_warps=4)

    def last(x: Any) -> Any:
        result = right(x)
        result[:, 16] = 0.0
        return result

    judged = judge(Direct(last, launches=[launch]))
    assert judged.result.mismatch is not None and judged.result.map is not None
    first = judged.result.mismatch.first
    assert (first.tile, first.lane, first.block) == (2, 0, 8)
    assert judged.blocks == (8,)
    assert "last_tile" in {feature.key for feature in judged.features}


def test_a_suite_that_fails_is_our_problem() -> None:
    def broken(case: Case, rng: np.random.Generator) -> Play:
        yield Ask("softmax", (1 // 0,), ())

    good = bench()
    bad = replace(good, answers=Answers(replace(good.answers.suite, play=broken), good.answers.reference))
    judged = judge_case(bad, TAIL, Direct(right), 1.0)
    assert judged.result.outcome is Outcome.GRADER_PROBLEM
    assert "ZeroDivisionError" in judged.problem
    assert "ZeroDivisionError" not in judged.result.detail


def test_a_reference_that_gives_nan_is_our_problem() -> None:
    good = bench()
    bad = replace(good, answers=Answers(good.answers.suite, {"softmax": lambda x: x * np.nan}))
    judged = judge_case(bad, TAIL, Direct(right), 1.0)
    assert judged.result.outcome is Outcome.GRADER_PROBLEM
    assert "NaN" in judged.problem


def test_inputs_depend_on_the_secret_seed() -> None:
    sent = []
    for seed in (b"one", b"one", b"two"):
        caller = Direct(right)
        judge_case(replace(bench(), seed=seed), TAIL, caller, 1.0)
        sent.append(caller.calls[0].args[0])
    assert sent[0] == sent[1] != sent[2]


# A drill of two steps, in which the second call gets the state that the first one returned, and writes in place.


def exact(expected: Values, inputs: Sequence[Values]) -> Tolerance:
    return tolerance(
        expected, relative=1e-9, absolute=1e-12, dtype="fp64", because="two additions, each exact or nearly so"
    )


def two_steps(case: Case, rng: np.random.Generator) -> Play:
    reply = yield Ask("double", (place(np.ones(3), "fp64"),), (Output("state", (3,), "fp64", exact),))
    state = place(reply.outputs[0], "fp64")
    yield Ask("add_one", (state,), (Output("state", (3,), "fp64", exact, argument=0),))


def stepper(double: Callable[[Any], object], add_one: Callable[[Any], object], tmp_path: Path) -> Judged:
    good = bench()
    reference = {"double": lambda x: 2 * x, "add_one": lambda x: x + 1}
    steps = replace(good, answers=Answers(replace(good.answers.suite, play=two_steps), reference))
    functions = {"double": double, "add_one": add_one}

    class Both(Direct):
        def call(self, call: Call, seconds: float, serve: object = None) -> Returned | Failure:
            self.function = functions[call.entry]
            return super().call(call, seconds)

    return judge_case(steps, TAIL, Both(right), 1.0)


def test_a_state_is_fed_into_the_next_call(tmp_path: Path) -> None:
    def add_one(x: Any) -> None:
        assert (x == 2).all()
        x += 1

    assert stepper(lambda x: 2 * x, add_one, tmp_path).accepted


def test_the_first_wrong_step_ends_the_case(tmp_path: Path) -> None:
    def never(x: Any) -> None:
        raise AssertionError("the second call must not be made")

    judged = stepper(lambda x: 3 * x, never, tmp_path)
    assert judged.result.outcome is Outcome.WRONG_ANSWER


def test_writing_in_place_must_stay_inside_the_view(tmp_path: Path) -> None:
    def beyond(x: Any) -> None:
        np.lib.stride_tricks.as_strided(x, (4,), (8,))[:] += 1  # NaN beside the view stays NaN, but of other bits
        np.lib.stride_tricks.as_strided(x, (4,), (8,))[3] = 0.0

    assert stepper(lambda x: 2 * x, beyond, tmp_path).result.outcome is Outcome.RULE_BROKEN
