"""Forked runners: each begins where its parent stood, says how it ended, and nothing of one reaches the next."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

import numpy as np
import pytest

from grader import wire
from grader.nursery import Nursery
from grader.pool import Failure, FailureKind, Limits, Pool, Runner
from grader.sandbox import descendants
from grader.verdict import Lane
from tests.attacks.leftovers import alive

pytestmark = pytest.mark.sandbox
X = wire.from_numpy(np.arange(4, dtype=np.float32))
FILE = """
import os, signal, sys
import numpy
count = 0
def f(x):
    global count
    count += 1
    numpy.seen = getattr(numpy, "seen", 0) + 1
    return [count, numpy.seen]
def crash(x):
    os.kill(os.getpid(), signal.SIGSEGV)
def leave(x):
    os._exit(7)
def loop(x):
    while True: pass
def shout(x):
    print("heard", file=sys.stderr, flush=True)
    return os.getpid()
def child(x):
    if os.fork() == 0:
        os.setsid()
        while True: pass
    return 1
"""
ENTRIES = ["f", "crash", "leave", "loop", "shout", "child"]


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with Nursery(Lane.CPU, 2, Limits(memory_bytes=256 << 20, total_seconds=20), framework="numpy") as pool:
        yield pool


def taken(pool: Pool) -> Runner:
    runner = pool.take()
    loaded = runner.load(wire.Load(source=FILE, entries=ENTRIES, framework="numpy"))
    assert isinstance(loaded, wire.Loaded)
    return runner


def called(runner: Runner, entry: str, seconds: float = 10) -> wire.Returned | Failure:
    return runner.call(wire.Call(id=1, entry=entry, args=[X]), seconds)


def failure(runner: Runner, entry: str, seconds: float = 10) -> Failure:
    got = called(runner, entry, seconds)
    assert isinstance(got, Failure)
    return got


def test_what_one_file_changes_the_next_does_not_see(pool: Pool) -> None:
    for _ in range(3):
        with taken(pool) as runner:
            answers = [called(runner, "f") for _ in range(2)]
            assert [one.value for one in answers if isinstance(one, wire.Returned)] == [[1, 1], [2, 2]]


def test_several_live_at_once_and_are_told_apart(pool: Pool) -> None:
    with taken(pool) as one, taken(pool) as other:
        assert failure(one, "leave").kind is FailureKind.DIED
        got = called(other, "shout")
        assert isinstance(got, wire.Returned) and other.console().text == "heard\n"
        assert "heard" not in one.close().text


def test_how_it_ended_is_told(pool: Pool) -> None:
    with taken(pool) as runner:
        assert "SIGSEGV" in failure(runner, "crash").message
    with taken(pool) as runner:
        assert "status 7" in failure(runner, "leave").message
    with taken(pool) as runner:
        assert failure(runner, "loop", 0.3).kind is FailureKind.TIME_LIMIT
    with taken(pool) as runner:
        assert isinstance(called(runner, "f"), wire.Returned), "the parent serves on"


def test_children_of_a_file_end_with_it_and_all_end_with_the_pool() -> None:
    others = set(descendants(os.getpid()))
    with Nursery(Lane.CPU, 1, framework="numpy") as pool:
        with taken(pool) as runner:
            assert isinstance(called(runner, "child"), wire.Returned)
            below = set(descendants(os.getpid())) - others
        pool.ready()
    deadline = time.monotonic() + 10
    while any(alive(pid) for pid in below) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(alive(pid) for pid in below)
