"""Every submission that tries to be accepted without a right kernel of its own meets the verdict it names."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from grader import compilable
from grader.drill import Drill, load_drills
from grader.grade import Grading
from grader.pool import Pool
from grader.verdict import Decided, Lane, encode

ATTACKS = sorted((Path(__file__).parent / "verdicts").glob("*.py"))
FRIENDS = sorted((Path(__file__).parents[2] / "drills" / "tiled_softmax" / "correct").glob("*.py"))
SHORT, LONG, TOTAL_SECONDS = 3.0, 30.0, 45.0  # short where a time limit is what may be met

pytestmark = pytest.mark.sandbox


@cache
def drill(call_seconds: float = LONG) -> Drill:
    found = load_drills(Path(__file__).parents[2] / "drills")["tiled_softmax"]
    limits = found.limits.model_copy(
        update={"call_seconds": call_seconds, "total_seconds": min(TOTAL_SECONDS, 6 * call_seconds)}
    )
    return found.model_copy(update={"limits": limits})


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with Pool(Lane.CPU, size=2) as made:
        yield made


@pytest.fixture(autouse=True)
def impatient_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half the time that compiling may take: the attacks on it use all there is."""
    monkeypatch.setattr(compilable, "LIMITS", replace(compilable.LIMITS, total_seconds=10.0))


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda path: path.stem)
def test_meets_its_verdict(attack: Path, pool: Pool) -> None:
    source = attack.read_text()
    (expected,) = re.findall(r"^expect: (.+)$", source, re.MULTILINE)
    pool.ready()
    started = time.monotonic()
    seconds = SHORT if "time_limit" in expected else LONG
    events = list(Grading(drill(seconds), source, Lane.CPU, pool, b"a secret").events())
    assert time.monotonic() - started < TOTAL_SECONDS + seconds + 3
    decided = events[-1]
    assert isinstance(decided, Decided)
    assert decided.verdict.outcome in expected.split(" | "), decided.verdict
    told = b"".join(encode(event) for event in events)
    # Visible cases may be told; nothing of the tenth call or a later one, which are hidden.
    assert not re.search(rb"CANARY \d\d", told) and b"CANARYtorch" not in told


FAIR = (Path(__file__).parents[2] / "drills" / "tiled_softmax" / "correct" / "one_tile.py").read_text()
TEXTS = {
    "a NUL": ("compile_error", FAIR + "x = '\0'\n"),
    "60,000 brackets": ("compile_error", "(" * 60_000),
    "60,000 signs": ("compile_error", "x = " + "-" * 60_000 + "1"),
    "30,000 attributes": ("compile_error", "x = a" + ".a" * 30_000),
    "half a surrogate pair": ("compile_error", FAIR + "x = '\ud800'\n"),
    "a form feed before a kernel": ("accepted", FAIR.replace("@triton.jit", "\f@triton.jit")),
    "line ends that are none in Python": (
        "accepted",
        FAIR.replace("@triton.jit", "s = '\u2028\x85\x1c'\n\n@triton.jit"),
    ),
    "old line ends": ("accepted", FAIR.replace("\n", "\r")),
    "a coding cookie that lies": ("accepted", "# -*- coding: utf-7 -*-\n" + FAIR),
    "2,500 lines to remark on": ("accepted", "def f():\n" + "    tl.load(x, mask=m)\n" * 2500 + FAIR),
    "a kernel decorated 2,000 times": ("accepted", FAIR + "\n" + "@triton.jit\n" * 2000 + "def g(x): pass\n"),
}


@pytest.mark.parametrize("name", TEXTS)
def test_odd_text(name: str, pool: Pool) -> None:
    expected, source = TEXTS[name]
    decided = list(Grading(drill(), source, Lane.CPU, pool, b"a secret").events())[-1]
    assert isinstance(decided, Decided)
    assert decided.verdict.outcome == expected, decided.verdict


def test_there_are_attacks() -> None:
    assert len(ATTACKS) >= 40 and len(FRIENDS) >= 5
