"""Calls that return numbers and plain values, that must raise, that may reuse their arguments, and their memory."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from grader.judge import Bench, Judged, judge_case
from grader.kit import Ask, Case, Exact, Output, Play, Suite, Tolerance, Values, place, pooled, tolerance
from grader.pool import Failure, FailureKind
from grader.suite import Answers, BrokenDrill, evaluate
from grader.verdict import Lane, Outcome
from grader.wire import Call, Other, Returned, from_numpy
from tests.grader.callers import Direct, toy

CASE = Case("one", "one", {}, visible=True, about="a small model")
X = np.arange(1.0, 7.0).reshape(2, 3)


def near(expected: Values, inputs: Sequence[Values]) -> Tolerance:
    words = "one division of exact counts, a few units in the last place"
    return tolerance(expected, relative=1e-9, absolute=0.0, dtype="fp64", because=words)


def judged(ask: Ask, reference: Callable[..., object], runner: Any) -> Judged:
    def play(case: Case, rng: np.random.Generator) -> Play:
        yield ask

    suite = Suite((), (CASE,), play, (), {})
    answers = Answers(suite, {"softmax": reference})
    caller = runner if hasattr(runner, "call") else Direct(runner)
    return judge_case(Bench(toy(), answers, Lane.CPU, b"seed"), CASE, caller, 1.0)


def number(value: object) -> Judged:
    ask = Ask("softmax", ({"heads": 4},), (Output("intensity", (), "fp64", near),))
    return judged(ask, lambda config: config["heads"] / 3, lambda config: value)


@pytest.mark.parametrize("value", [4 / 3, from_numpy(np.array(4 / 3)), from_numpy(np.array([4 / 3]))])
def test_a_number_may_come_in_several_forms(value: object) -> None:
    assert number(value).accepted
    result = number(value).result
    assert (result.data, result.shape, result.dtype) == ("a small model", "", "")


@pytest.mark.parametrize(
    "value", [4 / 3 + 1e-6, 1, True, None, "1.3", float("nan"), float("inf"), from_numpy(np.array([4 / 3, 4 / 3]))]
)
def test_another_number_or_none_is_refused(value: object) -> None:
    assert number(value).result.outcome is Outcome.WRONG_ANSWER


@pytest.mark.parametrize(
    ("value", "right"), [(8, True), (8.0, False), (True, False), (Other(type_name="X"), False)]
)
def test_an_exact_value_has_its_type(value: object, right: bool) -> None:
    ask = Ask("softmax", ({"heads": 4},), (Exact("bytes"),))
    found = judged(ask, lambda config: config["heads"] * 2, lambda config: value)
    assert found.accepted is right
    if not right:
        assert found.result.detail == "The bytes is not what it should be."


def test_the_first_of_several_outputs_that_is_wrong_tells_faults_apart() -> None:
    ask = Ask("softmax", (4,), (Exact("rows"), Exact("columns")))
    found = judged(ask, lambda n: (n, 2 * n), lambda n: [n, n])
    assert "first_columns" in [feature.key for feature in found.features]


class Raises:
    """A runner whose call ends with an exception."""

    def __init__(self, *names: str, kind: FailureKind = FailureKind.RAISED, digest: str | None = None) -> None:
        self.names, self.kind, self.digest = names, kind, digest

    def call(self, call: Call, seconds: float, serve: object = None) -> Failure:
        sha = self.digest or hashlib.sha256(call.args[0].storage).hexdigest()
        return Failure(self.kind, f"{self.names[0]}: no", error=self.names, args_digest=(sha,))


def refusing(x: Values) -> object:
    raise ValueError("no room")


REFUSED = Ask("softmax", (place(X, "fp32"),), raises="ValueError")


def test_the_exception_that_is_asked_for_is_accepted() -> None:
    assert judged(REFUSED, refusing, Raises("ValueError", "Exception")).accepted
    assert judged(REFUSED, refusing, Raises("NoRoom", "ValueError", "Exception")).accepted


@pytest.mark.parametrize(
    ("runner", "outcome", "words"),
    [
        (
            Raises("IndexError", "Exception"),
            Outcome.WRONG_ANSWER,
            "asks for ValueError; what was raised is IndexError",
        ),
        (
            Raises("ValueError", digest="0" * 64),
            Outcome.WRONG_ANSWER,
            "Argument 1 was changed, although ValueError",
        ),
        (Raises("ValueError", kind=FailureKind.DIED), Outcome.RUNTIME_ERROR, "ended without returning"),
        (lambda x: x * 1, Outcome.WRONG_ANSWER, "the contract asks for ValueError"),
    ],
)
def test_anything_else_is_refused(runner: Any, outcome: Outcome, words: str) -> None:
    found = judged(REFUSED, refusing, runner)
    assert found.result.outcome is outcome and words in found.result.detail


def test_an_exception_that_nobody_asked_for_is_a_runtime_error() -> None:
    ask = Ask("softmax", (place(X, "fp32"),), (Output("result", (2, 3), "fp32", near),))
    assert judged(ask, lambda x: x, Raises("ValueError")).result.outcome is Outcome.RUNTIME_ERROR


def test_the_reference_must_raise_too() -> None:
    with pytest.raises(BrokenDrill, match="does not raise ValueError"):
        evaluate(lambda x: x, REFUSED)
    with pytest.raises(IndexError):
        evaluate(lambda x: [][1], REFUSED)
    assert evaluate(refusing, REFUSED) == ()


def overwrites(x: Any) -> Any:
    x *= 2
    return x.copy()


def test_an_argument_may_be_reused_where_the_ask_says_so() -> None:
    args, outputs = (place(X, "fp32"),), (Output("result", (2, 3), "fp32", near),)
    assert judged(Ask("softmax", args, outputs, reuse=(0,)), lambda x: 2 * x, overwrites).accepted
    kept = judged(Ask("softmax", args, outputs), lambda x: 2 * x, overwrites)
    assert kept.result.outcome is Outcome.RULE_BROKEN


def test_a_reused_argument_still_has_guards() -> None:
    def beside(x: Any) -> Any:
        result = x * 2
        np.lib.stride_tricks.as_strided(x, (7,), (4,))[6] = 0.0
        return result

    ask = Ask("softmax", (place(X, "fp32"),), (Output("result", (2, 3), "fp32", near),), reuse=(0,))
    assert judged(ask, lambda x: 2 * x, beside).result.outcome is Outcome.RULE_BROKEN


@pytest.mark.parametrize(("peak", "ok"), [(0, True), (1000, True), (1001, False), (-1, False)])
def test_memory_above_the_limit_or_not_measured_breaks_the_rule(peak: int, ok: bool) -> None:
    class Measured(Direct):
        def call(self, call: Call, seconds: float, serve: object = None) -> Returned | Failure:
            reply = super().call(call, seconds)
            assert isinstance(reply, Returned)
            return Returned(id=reply.id, value=reply.value, args_digest=reply.args_digest, peak_bytes=peak)

    ask = Ask("softmax", (place(X, "fp32"),), (Output("result", (2, 3), "fp32", near),), peak_bytes=1000)
    found = judged(ask, lambda x: 2 * x, Measured(lambda x: x * 2))
    assert found.result.outcome is (Outcome.ACCEPTED if ok else Outcome.RULE_BROKEN)


def test_float64_is_as_good_where_no_type_is_promised() -> None:
    for wider in (True, False):
        ask = Ask("softmax", (place(X, "fp32"),), (Output("result", (2, 3), "fp32", near, wider=wider),))
        assert judged(ask, lambda x: 2 * x, lambda x: x.astype(np.float64) * 2).accepted is wider
        assert not judged(ask, lambda x: 2 * x, lambda x: x.astype(np.float16) * 2).accepted


@pytest.mark.parametrize(
    ("error", "ok", "words"),
    [
        (0.2, True, ""),
        (0.6, False, "1.2 times"),
        (0.001, False, "closer to the exact one"),
        (np.nan, False, "finite"),
    ],
)
def test_a_pooled_tolerance_judges_the_whole(error: float, ok: bool, words: str) -> None:
    def whole(expected: Values, inputs: Sequence[Values]) -> Tolerance:
        why = "eight-bit operands err by a few percent each"
        return pooled(expected, allowed=0.5, least=0.01, dtype="fp32", because=why)

    ask = Ask("softmax", (place(X, "fp32"),), (Output("o", (2, 3), "fp32", whole),))
    found = judged(ask, lambda x: x, lambda x: (x + error * np.array([1, -1, 1])).astype(np.float32))
    assert found.accepted is ok and words in found.result.detail
