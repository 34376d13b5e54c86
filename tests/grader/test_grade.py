"""Whole submissions through a real sandbox: every outcome, what stays hidden, and how a grading ends early."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from grader import messages
from grader.drill import Drill, load_drills
from grader.grade import Cancelled, Grading, grade
from grader.pool import Pool
from grader.verdict import (
    CaseDone,
    Decided,
    Diagnosing,
    Event,
    Lane,
    Outcome,
    Started,
    Verdict,
    decode_verdict,
    encode,
)
from tests.grader.callers import TOYS, toy

pytestmark = pytest.mark.sandbox

RIGHT = """
import numpy as np
def softmax(x):
    w = np.exp(x - x.max(-1, keepdims=True))
    return w / w.sum(-1, keepdims=True)
"""
NO_MAX = """
import numpy as np
def softmax(x):
    w = np.exp(x)
    return w / w.sum(-1, keepdims=True)
"""
TAIL = RIGHT.replace("return w /", "w[:, 16:] *= 2\n    return w /")


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with Pool(Lane.CPU, size=2, framework="numpy") as pool:
        yield pool


def events(pool: Pool, source: str, drill: Drill | None = None) -> list[Event]:
    return list(grade(drill or toy(), source, Lane.CPU, pool=pool, seed=b"secret"))


def verdict(pool: Pool, source: str, drill: Drill | None = None) -> Verdict:
    last = events(pool, source, drill)[-1]
    assert isinstance(last, Decided)
    return last.verdict


ENDS = {
    "right": (RIGHT, Outcome.ACCEPTED),
    "tail": (TAIL, Outcome.WRONG_ANSWER),
    "raises": ("def softmax(x): return x / 'a'", Outcome.RUNTIME_ERROR),
    "leaves": ("import os\ndef softmax(x): os._exit(0)", Outcome.RUNTIME_ERROR),
    "crashes": ("import ctypes\ndef softmax(x): ctypes.string_at(1)", Outcome.RUNTIME_ERROR),
    "not Python": ("def softmax(x)\n    return x", Outcome.COMPILE_ERROR),
    "no entry": ("def soft(x): return x", Outcome.COMPILE_ERROR),
    "too much memory": ("def softmax(x): return bytearray(8 << 30)", Outcome.OUT_OF_MEMORY),
    "never ends": ("def softmax(x):\n    while True: pass", Outcome.TIME_LIMIT),
    "loads for ever": ("while True: pass", Outcome.TIME_LIMIT),
    "prints for ever": ("def softmax(x):\n    while True: print('x' * 999)", Outcome.OUTPUT_LIMIT),
    "changes its input": (RIGHT.replace("return w", "x[0, 0] = 1\n    return w"), Outcome.RULE_BROKEN),
}


@pytest.mark.parametrize("name", ENDS)
def test_every_outcome_is_reached_and_said_in_plain_words(pool: Pool, name: str) -> None:
    source, outcome = ENDS[name]
    found = verdict(pool, source)
    assert found.outcome is outcome, found
    assert found.sentence and found.sentence != messages.GRADER_PROBLEM
    assert found.problem == ""
    assert decode_verdict(encode(found)) == found
    if outcome is not Outcome.ACCEPTED:
        failed = next(case for case in found.cases if case.outcome is outcome)
        assert failed.detail or failed.mismatch, "the learner is told what happened"


def test_events_come_in_order_and_count_right(pool: Pool) -> None:
    seen = events(pool, RIGHT)
    assert isinstance(seen[0], Started) and isinstance(seen[-1], Decided)
    cases = seen[1:-1]
    assert [case.number for case in cases if isinstance(case, CaseDone)] == list(range(1, seen[0].cases + 1))
    assert len(cases) == seen[0].cases == seen[-1].verdict.expected_cases
    visible = [case.result.visible for case in cases if isinstance(case, CaseDone)]
    assert visible == sorted(visible, reverse=True), "visible cases run first"


@pytest.mark.parametrize("name", ["right", "tail"])
def test_a_trial_runs_the_visible_cases_and_says_so(pool: Pool, name: str) -> None:
    source, outcome = ENDS[name]
    seen = list(grade(toy(), source, Lane.CPU, pool=pool, seed=b"secret", visible_only=True))
    last, started = seen[-1], seen[0]
    assert isinstance(last, Decided) and isinstance(started, Started)
    found = last.verdict
    assert found.visible_only and found.outcome is outcome
    assert started.cases == len(found.cases) == found.expected_cases < verdict(pool, source).expected_cases
    assert all(case.visible for case in found.cases)
    assert not found.sentence.startswith("Accepted")


def test_a_visible_failure_is_probed_before_hidden_cases_run(pool: Pool) -> None:
    seen = events(pool, TAIL)
    probing = next(i for i, event in enumerate(seen) if isinstance(event, Diagnosing))
    before, after = seen[1:probing], seen[probing + 1 : -1]
    assert all(isinstance(event, CaseDone) and event.result.visible for event in before)
    assert after and all(isinstance(event, CaseDone) and not event.result.visible for event in after)


def test_a_failure_is_diagnosed(pool: Pool) -> None:
    diagnosis = verdict(pool, TAIL).diagnosis
    assert diagnosis is not None and diagnosis.smallest_failing and diagnosis.nearest_passing
    assert diagnosis.smallest_failing.shape.startswith("1 row × 17 columns")
    assert diagnosis.nearest_passing.shape.startswith("1 row × 16 columns")
    assert diagnosis.error_by_tiles and diagnosis.trend
    assert diagnosis.question.endswith("?")
    assert diagnosis.related == ("online-softmax",)


def test_a_hidden_failure_is_told_as_such(pool: Pool) -> None:
    found = verdict(pool, NO_MAX)
    assert found.outcome is Outcome.WRONG_ANSWER
    assert found.sentence == "Wrong answer in a hidden case; 4 of 5 cases passed, all visible ones among them."
    assert found.diagnosis is not None and found.diagnosis.question


# Whatever the learner's code learns in a hidden case, it can't say in the verdict.

TELLTALE = """
import sys
import numpy as np
seen = []
def softmax(x):
    seen.append(x.shape)
    print("LEAK", x.shape, x.max(), flush=True)
    sys.stderr.write(f"LEAK {x.shape}\\n")
    if len(seen) > 2:
        raise ValueError(f"LEAK {x.shape} {x.min()} {seen}")
    w = np.exp(x - x.max(-1, keepdims=True))
    return w / w.sum(-1, keepdims=True)
"""


def test_nothing_of_a_hidden_case_reaches_the_verdict(pool: Pool) -> None:
    found = verdict(pool, TELLTALE)
    assert found.outcome is Outcome.RUNTIME_ERROR
    hidden = [case for case in found.cases if not case.visible]
    assert len(hidden) == 3
    for number, case in enumerate(hidden, start=1):
        bare = (
            case.name,
            case.shape,
            case.data,
            case.dtype,
            case.detail,
            case.line,
            case.error,
            case.mismatch,
            case.map,
        )
        assert bare == (f"hidden {number}", "", "", "", "", None, None, None, None)
        assert case.seconds == 0.0
    text = encode(found).decode()
    for word in ("49 columns", "+300", "(3, 15)", "(1, 33)", "near 300", "strided", "negative"):
        assert word not in text, word
    assert found.console.text.count("LEAK (2, 16)") == 2, "visible cases may be printed"
    assert "(3, " not in found.console.text


def test_remembering_hidden_inputs_does_not_help(pool: Pool) -> None:
    """Probes for a failure that only hidden cases show run in a process that never saw one."""
    source = """
import numpy as np
calls = []
def softmax(x):
    w = np.exp(x)
    told = 2 if any(shape[0] == 3 for shape in calls) else 1
    calls.append(x.shape)
    return told * w / w.sum(-1, keepdims=True)
"""
    found = verdict(pool, source)
    assert found.diagnosis is not None
    assert found.diagnosis.smallest_failing is None, "the probe passes, as it does with no hidden case before it"


def test_accepted_hidden_cases_show_no_error_either(pool: Pool) -> None:
    hidden = [case for case in verdict(pool, RIGHT).cases if not case.visible]
    assert hidden and all(case.error is None and case.outcome is Outcome.ACCEPTED for case in hidden)


# Ending early.


def limited(**changes: Any) -> Drill:
    drill = toy()
    return drill.model_copy(update={"limits": drill.limits.model_copy(update=changes)})


def test_after_a_time_limit_the_rest_is_not_run(pool: Pool) -> None:
    found = verdict(pool, ENDS["never ends"][0], limited(call_seconds=0.5))
    assert len(found.cases) == 1
    assert found.expected_cases == 5
    assert "still running after 0.5 s" in found.cases[0].detail


def test_all_cases_together_have_a_limit(pool: Pool) -> None:
    slow = RIGHT.replace("def softmax(x):", "import time\ndef softmax(x):\n    time.sleep(0.4)")
    found = verdict(pool, slow, limited(total_seconds=1.0, call_seconds=1.0))
    assert found.outcome is Outcome.TIME_LIMIT
    assert 2 <= len(found.cases) < 5
    assert found.timings.run < 5.0


def test_cancelling_ends_a_call_in_flight(pool: Pool) -> None:
    started = time.monotonic()
    stream = grade(
        limited(call_seconds=30.0, total_seconds=30.0),
        ENDS["never ends"][0],
        Lane.CPU,
        pool=pool,
        seed=b"",
        cancelled=lambda: time.monotonic() > started + 0.5,
    )
    with pytest.raises(Cancelled):
        list(stream)
    assert time.monotonic() - started < 20


def test_cancelled_before_it_starts(pool: Pool) -> None:
    with pytest.raises(Cancelled):
        list(grade(toy(), RIGHT, Lane.CPU, pool=pool, seed=b"", cancelled=lambda: True))


def test_closing_the_stream_ends_the_sandbox(pool: Pool) -> None:
    grading = Grading(toy(), RIGHT, Lane.CPU, pool, b"")
    stream = grading.events()
    next(stream)
    runner = grading._runner
    assert runner is not None and runner.usable
    stream.close()
    assert runner.closed


# Our own faults.


def test_a_broken_suite_is_a_grader_problem_with_its_reason(pool: Pool, tmp_path: Path) -> None:
    shutil.copytree(TOYS / "row_softmax", tmp_path / "row_softmax")
    (tmp_path / "row_softmax" / "suite.py").write_text("SUITE = 3 / 0\n")
    found = verdict(pool, RIGHT, load_drills(tmp_path)["row_softmax"])
    assert found.outcome is Outcome.GRADER_PROBLEM
    assert found.sentence == messages.GRADER_PROBLEM
    assert "suite.py: ZeroDivisionError" in found.problem


def test_a_reference_that_fails_is_a_grader_problem_and_ends_at_once(pool: Pool, tmp_path: Path) -> None:
    shutil.copytree(TOYS / "row_softmax", tmp_path / "row_softmax")
    (tmp_path / "row_softmax" / "reference.py").write_text("def softmax(x):\n    raise KeyError('secret answer')\n")
    found = verdict(pool, RIGHT, load_drills(tmp_path)["row_softmax"])
    assert found.outcome is Outcome.GRADER_PROBLEM
    assert len(found.cases) == 1
    assert "secret answer" in found.problem
    assert "secret answer" not in found.sentence + found.cases[0].detail


def test_whatever_else_fails_on_our_side_ends_in_a_verdict(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    def boom(judged: object) -> None:
        raise LookupError("a bug of ours")

    monkeypatch.setattr("grader.grade.visible_traffic", boom)
    found = verdict(pool, RIGHT)
    assert found.outcome is Outcome.GRADER_PROBLEM
    assert found.problem == "LookupError: a bug of ours"


def test_cancelled_while_the_file_loads(pool: Pool) -> None:
    started = time.monotonic()
    cancelled = lambda: time.monotonic() > started + 0.5  # noqa: E731
    with pytest.raises(Cancelled):
        list(grade(toy(), "while True: pass", Lane.CPU, pool=pool, seed=b"", cancelled=cancelled))


def test_without_a_sandbox_nothing_is_graded() -> None:
    pool = Pool(Lane.CPU, size=0, framework="numpy")
    pool.close()
    found = verdict(pool, RIGHT)
    assert found.outcome is Outcome.GRADER_PROBLEM
    assert "no sandbox" in found.problem
