"""Timed calls and their audits, with the runner's real stopwatch on the CPU and a clock that is made up."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from grader import messages, stopwatch, timing
from grader.gauge import Around, Gauge, name
from grader.kit import Fresh, Output, Part, Timed
from grader.speed import Timing, judge_speed
from grader.timing import Interval, draw
from grader.verdict import Outcome
from tests.grader.callers import bench
from tests.grader.synthetic import Here
from tests.grader.toys.row_softmax.suite import near

torch: Any = pytest.importorskip("torch")

SHAPE = (48, 129)
CALL = 3e-3  # seconds that each honest call takes by the made-up clock


def some_rows(rng: np.random.Generator) -> Part:
    start = int(rng.integers(0, SHAPE[0] - 4))
    piece = (slice(start, start + 4), slice(0, SHAPE[1]))
    return Part((piece,), (piece,))


TIMED = Timed(
    "softmax", (Fresh(SHAPE),), (Output("result", SHAPE, "fp32", near),), some_rows, "48 rows × 129 columns"
)
FLOOR = 1e-3


@pytest.fixture(autouse=True)
def small_and_short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stopwatch, "LEAST_FLUSH", 1 << 12)
    monkeypatch.setattr(stopwatch, "FLUSH", 0)
    monkeypatch.setattr(timing, "PERIOD", 10_007)


def gauge() -> Gauge:
    around = Around(draw(TIMED, np.random.default_rng(3)), Interval(0.0, 0.0, 0.0), 1 << 30)
    return Gauge("a made-up GPU", TIMED.nbytes / FLOOR, 1e15, {name(TIMED): around})


def time(entry: Callable[[Any], Any], call: float = CALL, written: bool = True, **rules: bool) -> Timing:
    set_up = bench()
    drill = set_up.drill.model_copy(
        update={"framework": "triton", "rules": set_up.drill.rules.model_copy(update=rules)}
    )
    set_up = type(set_up)(drill, set_up.answers, set_up.lane, set_up.seed)
    return judge_speed(set_up, TIMED, Here(entry, call, written), gauge(), 5.0)  # type: ignore[arg-type]


def honest(x: Any) -> Any:
    return torch.softmax(x, -1)


def test_an_honest_call_gets_its_time_and_what_it_is_of_the_floor() -> None:
    found = time(honest)
    assert found.judged.accepted and found.judged.result.error is not None and 0 < found.judged.result.error <= 1
    assert found.speed is not None
    assert found.speed.low <= found.speed.microseconds <= found.speed.high
    assert found.speed.microseconds == pytest.approx(CALL * 1e6)
    assert found.speed.percent == pytest.approx(100 * FLOOR / CALL)
    assert (found.speed.gpu, found.speed.bound, found.speed.audited) == ("a made-up GPU", "bandwidth", 3)


def test_faster_than_the_floor_is_no_record() -> None:
    found = time(honest, call=FLOOR * 0.9)
    assert found.speed is None and found.judged.result.outcome is Outcome.GRADER_PROBLEM
    assert found.judged.result.detail == messages.too_fast() and "floor" in found.judged.problem


def test_a_little_faster_than_the_floor_is_the_floor() -> None:
    speed = time(honest, call=FLOOR * 0.97).speed
    assert speed is not None and speed.percent == 100


def replay_by_pointer() -> Callable[[Any], Any]:
    known: dict[int, Any] = {}
    return lambda x: known.setdefault(x.data_ptr(), honest(x))


def static_buffer() -> Callable[[Any], Any]:
    out = torch.empty(SHAPE)
    return lambda x: out.copy_(honest(x))


def right_at_first() -> Callable[[Any], Any]:
    calls = 0

    def entry(x: Any) -> Any:
        nonlocal calls
        calls += 1
        return honest(x) if calls < 40 else torch.zeros(SHAPE)

    return entry


def one_in_two() -> Callable[[Any], Any]:
    calls, kept = 0, torch.zeros(SHAPE)

    def entry(x: Any) -> Any:
        nonlocal calls, kept
        calls += 1
        kept = honest(x) if calls % 2 else kept
        return kept

    return entry


def finished_later() -> Callable[[Any], Any]:
    def entry(x: Any) -> Any:
        out, copy = torch.zeros(SHAPE), x.clone()
        threading.Timer(0.002, lambda: out.copy_(honest(copy))).start()
        return out

    return entry


def nan_at_full_size() -> Callable[[Any], Any]:
    return lambda x: honest(x) * float("nan")


def last_column_forgotten() -> Callable[[Any], Any]:
    def entry(x: Any) -> Any:
        out = honest(x)
        out[:, -1] = 0
        return out

    return entry


@pytest.mark.parametrize(
    ("made", "outcome"),
    [
        (replay_by_pointer, Outcome.WRONG_ANSWER),
        (static_buffer, Outcome.RULE_BROKEN),
        (right_at_first, Outcome.WRONG_ANSWER),
        (nan_at_full_size, Outcome.WRONG_ANSWER),
        (last_column_forgotten, Outcome.WRONG_ANSWER),
    ],
)
def test_cheating_is_caught(made: Callable[[], Callable[[Any], Any]], outcome: Outcome) -> None:
    found = time(made())
    assert found.speed is None
    assert found.judged.result.outcome is outcome, found.judged.result.detail


def test_what_is_finished_after_the_call_is_caught() -> None:
    found = time(finished_later())
    assert found.speed is None
    # The audit comes while it is still missing, or after it came.
    assert found.judged.result.outcome in (Outcome.WRONG_ANSWER, Outcome.RULE_BROKEN)


def test_to_answer_every_second_call_from_memory_is_caught_most_of_the_time() -> None:
    """Several calls are looked at, each caught with chance 1/2."""
    assert sum(time(one_in_two()).speed is None for _ in range(3)) >= 2


class Lazy(torch.Tensor):  # type: ignore[misc]
    """A tensor that could compute itself when it is looked at."""


@pytest.mark.parametrize(
    "entry",
    [
        lambda x: honest(x).as_subclass(Lazy),
        lambda x: honest(x).double(),
        lambda x: honest(x)[:-1],
        lambda x: None,
        lambda x: [honest(x), honest(x)],
        lambda x: honest(x).numpy(),
    ],
)
def test_only_the_promised_tensor_is_timed(entry: Callable[[Any], Any]) -> None:
    found = time(entry)
    assert found.speed is None and found.judged.result.outcome is Outcome.RUNTIME_ERROR


def test_who_wrote_the_result_is_asked_at_full_size_too() -> None:
    found = time(honest, written=False, written_by_kernel=True)
    assert found.speed is None and found.judged.result.outcome is Outcome.RULE_BROKEN
    assert time(honest, written=True, written_by_kernel=True).speed is not None
