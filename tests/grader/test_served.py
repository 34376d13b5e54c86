"""Functions that the judge serves: what is counted, refused and told; and results judged by a check."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from grader import messages, wire
from grader.judge import Bench, Judged, judge_case
from grader.kit import Ask, BadCall, Case, Checked, Exact, Foreign, Mark, Play, Report, Served, Suite, as_matrix
from grader.pool import Failure, FailureKind
from grader.served import MOST_BYTES, positional
from grader.served import Served as Functions
from grader.serving import Service, as_given
from grader.suite import Answers
from grader.tensors import Workshop
from grader.verdict import Lane, Outcome
from grader.wire import Given, Handle, Malformed, Wanted, from_numpy
from tests.grader.callers import toy

CASE = Case("one", "one", {}, visible=True, about="a doubled matrix")
ONE = from_numpy(np.ones((1, 2), np.float32))


def double(x: object) -> Any:
    return 2 * as_matrix(x, "x")


def service(limit: int = 2, function: Callable[..., Any] = double, **more: Any) -> Service:
    return Service(Ask("softmax", (3, Served(function, limit, ("x",), **more)), (Exact("name"),)))


def test_a_question_is_answered_and_counted() -> None:
    served = service()
    given = served(Wanted(handle=1, args=[ONE]))
    assert given.error == "" and wire.to_numpy(given.value).tolist() == [[2.0, 2.0]]
    assert served.calls is not None
    assert (served.calls.used, served.calls.allowed, served.calls.log) == (1, 2, ("x 1×2",))
    assert served.overdrawn is None and served.seconds > 0


@pytest.mark.parametrize(
    ("args", "error", "words"),
    [
        ([], "TypeError", "takes 1 arguments"),
        ([ONE, ONE], "TypeError", "takes 1 arguments"),
        ([[1.0]], "TypeError", "not list"),
        ([None], "TypeError", "not NoneType"),
        ([wire.Other(type_name="torch.Tensor")], "TypeError", "not torch.Tensor"),
        ([from_numpy(np.ones((1, 1), bool))], "TypeError", "real numbers"),
        ([from_numpy(np.ones(3, np.float32))], "ValueError", "two axes"),
        ([from_numpy(np.ones((0, 3), np.float32))], "ValueError", "none of them empty"),
        ([from_numpy(np.full((1, 1), np.nan))], "ValueError", "finite"),
        ([from_numpy(np.full((1, 1), 1e300))], "ValueError", "finite"),
        ([from_numpy(np.ones((1, 200_000)))], "ValueError", "at most 1,048,576 bytes"),
    ],
)
def test_wrong_arguments_are_refused_in_words_and_count(args: list[Any], error: str, words: str) -> None:
    served = service()
    given = served(Wanted(handle=1, args=args))
    assert given.error == error and words in given.message and given.value is None
    assert served.calls is not None and served.calls.used == 1 and words in served.calls.log[0]


def test_nothing_is_run_when_the_calls_are_spent() -> None:
    ran: list[object] = []

    def once(x: object) -> float:
        ran.append(x)
        return 1.0

    served = service(1, once)
    answers = [served(Wanted(handle=1, args=[ONE])) for _ in range(3)]
    assert [answer.error for answer in answers] == ["", "RuntimeError", "RuntimeError"]
    assert len(ran) == 1 and served.overdrawn is not None
    assert served.calls is not None and (served.calls.used, len(served.calls.log)) == (3, 1)


@pytest.mark.parametrize("handle", [0, 2, -1])
def test_what_was_not_offered_is_malformed(handle: int) -> None:
    with pytest.raises(Malformed):
        service()(Wanted(handle=handle, args=[ONE]))


def test_an_error_of_a_drill_does_not_choose_what_is_raised() -> None:
    def refuse(x: object) -> Any:
        raise BadCall("SystemExit", "no")

    assert service(1, refuse)(Wanted(handle=1, args=[ONE])).error == "ValueError"


def test_values_from_the_wire_are_plain() -> None:
    value = [from_numpy(np.array(3)), {"a": ONE}, wire.Other(type_name="X\n\x00")]
    number, inner, other = as_given(value)
    assert number == 3 and type(number) is int
    assert isinstance(inner["a"], np.ndarray) and isinstance(other, Foreign)
    assert as_given(from_numpy(np.array([0x3F80], np.uint16), "bf16")).tolist() == [1.0]


def test_only_a_judge_may_send_a_handle() -> None:
    handle = Handle(id=1, parameters=["x"])
    order = wire.decode_order(wire.frame(wire.Call(id=1, entry="f", args=[handle]))[4:])
    assert isinstance(order, wire.Call) and order.args == [handle]
    for answer in (wire.Returned(id=1, value=handle), wire.Wanted(handle=1, args=[handle])):
        with pytest.raises(Malformed):
            wire.decode_answer(wire.frame(answer)[4:])


def test_a_question_may_not_unfold_into_more_than_it_carries() -> None:
    thin = wire.Array(dtype="fp32", shape=(1 << 20, 8), strides=(0, 0), offset=0, storage=b"\0\0\0\0")
    with pytest.raises(Malformed):
        wire.decode_answer(wire.frame(Wanted(handle=0, args=[thin]))[4:])


class Wire:
    """The runner's channel, with a judge behind it."""

    def __init__(self, answer: Callable[[wire.Wanted], wire.Order]) -> None:
        self.answer, self.sent, self.waiting = answer, 0, 0

    def send(self, answer: wire.Answer) -> None:
        assert isinstance(answer, wire.Wanted) and not self.waiting, "one question at a time"
        self.sent, self.waiting, self.asked = self.sent + 1, 1, answer

    def receive(self) -> wire.Order:
        self.waiting = 0
        return self.answer(self.asked)


def learner(answer: Callable[[wire.Wanted], wire.Order]) -> tuple[Wire, Functions, Callable[..., Any]]:
    channel = Wire(answer)
    functions = Functions(channel, Workshop("numpy", "cpu"))
    return channel, functions, functions.function(Handle(id=4, parameters=["q", "k"]))


def test_the_learner_calls_a_function_that_is_not_there() -> None:
    _, functions, kernel = learner(lambda wanted: Given(value=wanted.args[1]))
    seen = kernel(np.zeros(2), k=np.arange(3.0))
    assert isinstance(seen, np.ndarray) and seen.tolist() == [0.0, 1.0, 2.0]
    seen[0] = 5.0  # theirs to write to
    functions.close()
    with pytest.raises(RuntimeError, match="while the call that was given it runs"):
        kernel(1, 2)


def test_what_the_judge_says_is_raised() -> None:
    for error in ("TypeError", "ValueError", "RuntimeError", "KeyboardInterrupt"):
        _, _, kernel = learner(lambda wanted, e=error: Given(error=e, message="so"))  # type: ignore[misc]
        with pytest.raises((TypeError, ValueError, RuntimeError), match="so"):
            kernel(1, 2)


def test_too_much_does_not_travel() -> None:
    channel, _, kernel = learner(lambda wanted: Given())
    with pytest.raises(ValueError, match="at most"):
        kernel(np.zeros(MOST_BYTES // 8), np.zeros(1))
    assert channel.sent == 0


@pytest.mark.parametrize(
    ("args", "named"),
    [((), {}), ((1,), {}), ((1, 2, 3), {}), ((1, 2), {"k": 3}), ((1,), {"x": 2}), ((1,), {"q": 2})],
)
def test_the_number_and_the_names_of_arguments_are_looked_at_here(
    args: Sequence[int], named: dict[str, int]
) -> None:
    with pytest.raises(TypeError):
        positional(["q", "k"], args, named)


def test_threads_wait_for_each_other() -> None:
    _, _, kernel = learner(lambda wanted: Given(value=wanted.args[0]))
    found: list[int] = []
    threads = [threading.Thread(target=lambda n=n: found.append(kernel(n, 0))) for n in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == list(range(20))


def test_an_answer_that_nobody_waits_for_any_more_is_read_before_the_next() -> None:
    answers = iter([KeyboardInterrupt(), 1, 2])

    def answer(wanted: wire.Wanted) -> wire.Order:
        value = next(answers)
        if isinstance(value, BaseException):
            raise value
        return Given(value=value)

    _, _, kernel = learner(answer)
    with pytest.raises(KeyboardInterrupt):
        kernel(0, 0)
    assert kernel(0, 0) == 2  # 1 was the answer to the first


# Judged.


def judged(ask: Ask, reference: Callable[..., object], learn: Callable[..., Any]) -> Judged:
    """`learn` gets the arguments as sent, and a function to ask the judge with."""

    class Runner:
        def call(self, call: wire.Call, seconds: float, serve: Any = None) -> wire.Returned | Failure:
            value = learn(*call.args, serve)
            if isinstance(value, Failure):
                return value
            return wire.Returned(id=call.id, value=value)

    def play(case: Case, rng: np.random.Generator) -> Play:
        yield ask

    answers = Answers(Suite((), (CASE,), play, (), {}), {"softmax": reference})
    return judge_case(Bench(toy(), answers, Lane.CPU, b"seed"), CASE, Runner(), 1.0)


def served_twice(learn: Callable[..., Any]) -> Judged:
    ask = Ask("softmax", (Served(double, 2, ("x",)),), (Exact("name"),))
    return judged(ask, lambda function: "double", learn)


def test_calls_are_shown() -> None:
    found = served_twice(lambda handle, serve: serve(Wanted(handle=handle.id, args=[ONE])) and "double")
    assert found.accepted and found.result.calls is not None
    assert (found.result.calls.used, found.result.calls.name) == (1, "kernel")
    assert served_twice(lambda handle, serve: "triple").result.outcome is Outcome.WRONG_ANSWER


@pytest.mark.parametrize(
    "ends", ["double", "triple", Failure(FailureKind.RAISED, "x"), Failure(FailureKind.TIME_LIMIT, "x")]
)
def test_one_call_too_many_breaks_the_rule_however_it_ends(ends: object) -> None:
    def learn(handle: Handle, serve: Callable[[Wanted], Given]) -> object:
        for _ in range(3):
            serve(Wanted(handle=handle.id, args=[ONE]))
        return ends

    found = served_twice(learn)
    assert found.result.outcome is Outcome.RULE_BROKEN
    assert found.result.detail == messages.too_many_calls("kernel", 2)
    assert found.runner_lost is (isinstance(ends, Failure) and ends.kind == "time_limit")


def test_a_served_function_that_fails_is_our_problem() -> None:
    def broken(x: object) -> Any:
        raise ZeroDivisionError

    ask = Ask("softmax", (Served(broken, 2, ("x",)),), (Exact("name"),))
    found = judged(ask, lambda function: "broken", lambda h, serve: serve(Wanted(handle=h.id, args=[ONE])))
    assert found.result.outcome is Outcome.GRADER_PROBLEM and "ZeroDivisionError" in found.problem


def short(value: Any) -> Report:
    ok = isinstance(value, list) and len(value) < 3
    marks = (Mark("Length", "short", ok, "" if ok else "\u202etoo long"),)
    return Report(
        ok, "It is short." if ok else "It is long.", marks, (("length", "2"),), ("long",), "How long?", ok
    )


@pytest.mark.parametrize(("value", "ok"), [([1, 2], True), ([1, 2, 3], False), (None, False), (ONE, False)])
def test_a_check_decides_and_reports(value: object, ok: bool) -> None:
    found = judged(Ask("softmax", (), (Checked("list", short),)), lambda: [1], lambda serve: value)
    assert found.accepted is ok and found.result.report is not None
    assert found.result.report.by_person is ok and "\u202e" not in found.result.report.marks[0].words
    assert found.question == ("" if ok else "How long?")
    if not ok:
        assert found.result.outcome is Outcome.WRONG_ANSWER and found.result.error is None
        assert found.result.detail == "It is long." and found.features[1].key == "long"


def test_a_check_that_says_neither_accepts_nothing() -> None:
    ask = Ask("softmax", (), (Checked("list", lambda value: Report(1, "x")),))  # type: ignore[arg-type]
    assert not judged(ask, lambda: [1], lambda serve: [1]).accepted
