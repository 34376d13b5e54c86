"""Every hostile program ends as its docstring says, in time, and leaves nothing; the next is unaffected."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from grader import wire
from grader.pool import Failure, Limits, Pool, Runner
from tests.attacks.leftovers import Leftovers

PROGRAMS = sorted((Path(__file__).parent / "programs").glob("*.py"))
SHORT, LONG = 1.0, 30.0  # seconds for a call: short only where the limit is what is tested
LIMITS = Limits(
    memory_bytes=200 << 20,
    files_bytes=32 << 20,
    processes=32,
    load_seconds=1.0,
    total_seconds=45,
    printed_bytes=2 << 20,
    answer_bytes=8 << 20,
)
FINE = "def run(x):\n    return x * 2\n"

pytestmark = pytest.mark.sandbox


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    os.environ["TILEWRIGHT_TEST_SECRET"] = "the judge's"
    with Pool(size=1, limits=LIMITS, framework="numpy") as made:
        yield made
    del os.environ["TILEWRIGHT_TEST_SECRET"]


@pytest.fixture(scope="module")
def triton_pool() -> Iterator[Pool]:
    with Pool(size=1, limits=replace(LIMITS, load_seconds=5)) as made:
        yield made


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_ends_as_expected_and_leaves_nothing(program: Path, request: pytest.FixtureRequest) -> None:
    source = program.read_text()
    expected = facts(source)
    framework = expected.get("framework", "numpy")
    pool: Pool = request.getfixturevalue("pool" if framework == "numpy" else "triton_pool")
    leftovers = Leftovers()
    with pool.take() as runner:
        leftovers.watch(runner)
        started = time.monotonic()
        seconds = SHORT if "time_limit" in expected["expect"] else LONG
        kind, value = outcome(runner, source, framework, seconds)
        assert time.monotonic() - started < LIMITS.load_seconds + seconds + 3
        assert kind in expected["expect"].split(" | "), value
        if isinstance(value, Failure):
            assert value.line == int(expected["line"]) if "line" in expected else True
            assert len(value.message) < 5000
        elif expected.get("value") != "any":
            assert value == []
    leftovers.assert_none()
    with pool.take() as runner:
        kind, value = outcome(runner, FINE, framework)
        assert kind == "returned" and isinstance(value, wire.Array)
        np.testing.assert_array_equal(wire.to_numpy(value), np.arange(64, dtype=np.float32) * 2)


def test_there_are_programs() -> None:
    assert len(PROGRAMS) >= 35


def facts(source: str) -> dict[str, str]:
    """The `key: value` lines of a program's docstring."""
    doc = source.split('"""')[1]
    return dict(re.findall(r"^(expect|framework|line|value): (.+)$", doc, re.MULTILINE))


def outcome(runner: Runner, source: str, framework: str, seconds: float = 5.0) -> tuple[str, object]:
    """Load and call; the kind of the first failure, or "returned" with the value."""
    loaded = runner.load(wire.Load(source=source, entries=["run"], framework=framework))
    if isinstance(loaded, Failure):
        return loaded.kind, loaded
    x = wire.from_numpy(np.arange(64, dtype=np.float32))
    answer = runner.call(wire.Call(id=1, entry="run", args=[x]), seconds)
    return (answer.kind, answer) if isinstance(answer, Failure) else ("returned", answer.value)
