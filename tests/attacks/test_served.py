"""Whoever attacks a function that the judge serves meets the verdict that the attack's file names."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from grader.drill import Drill, load_drills
from grader.grade import Grading
from grader.pool import Pool
from grader.verdict import Decided, Lane, Outcome, encode

ATTACKS = sorted((Path(__file__).parent / "served").glob("*.py"))
CALL_SECONDS, TOTAL_SECONDS = 3.0, 30.0

pytestmark = pytest.mark.sandbox


@cache
def drill() -> Drill:
    found = load_drills(Path(__file__).parents[2] / "drills")["name_the_drift"]
    limits = found.limits.model_copy(update={"call_seconds": CALL_SECONDS, "total_seconds": TOTAL_SECONDS})
    return found.model_copy(update={"limits": limits})


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with Pool(Lane.CPU, size=2, framework="numpy") as made:
        yield made


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda path: path.stem)
def test_meets_its_verdict(attack: Path, pool: Pool) -> None:
    source = attack.read_text()
    (expected,) = re.findall(r"^expect: (.+)$", source, re.MULTILINE)
    pool.ready()
    started = time.monotonic()
    grading = Grading(drill(), source, Lane.CPU, pool, b"a secret")
    events = list(grading.events())
    assert time.monotonic() - started < TOTAL_SECONDS + CALL_SECONDS + 3
    decided = events[-1]
    assert isinstance(decided, Decided)
    assert decided.verdict.outcome in expected.split(" | "), (decided.verdict, decided.verdict.problem)
    told = b"".join(encode(event) for event in events)
    assert not re.search(rb"CANARY ([5-9]|\d\d)", told)  # the first four cases are visible


def test_calls_are_counted_for_the_learner_where_the_kernel_is_visible(pool: Pool) -> None:
    source = (Path(__file__).parent / "served" / "one_call_more.py").read_text()
    decided = list(Grading(drill(), source, Lane.CPU, pool, b"a secret").events())[-1]
    assert isinstance(decided, Decided)
    first, *_, last = decided.verdict.cases
    assert first.calls is not None and (first.calls.allowed, first.calls.used) == (12, 11 + first.calls.used - 11)
    assert first.calls.used > 12 and len(first.calls.log) == 12  # what is asked beyond is not even looked at
    assert "two axes" in first.calls.log[-1] or "NumPy array" in first.calls.log[-1]
    assert not last.visible and last.calls is None
    assert decided.verdict.sentence.startswith("kernel was called more than 12 times in the case")
    assert first.outcome is Outcome.RULE_BROKEN
