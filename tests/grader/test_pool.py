"""Warm, used once, thrown away, and gone whatever happens to us."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from grader import cgroups, gpus, sandbox, wire
from grader.pool import Failure, FailureKind, Limits, Pool, Runner, SandboxUnavailable
from grader.sandbox import Box, descendants
from grader.verdict import Lane
from tests.attacks.leftovers import Leftovers, alive

pytestmark = pytest.mark.sandbox
ROOT = Path(__file__).parents[2]
LIMITS = Limits(memory_bytes=256 << 20, files_bytes=8 << 20, processes=32)
X = wire.from_numpy(np.arange(4, dtype=np.float32))
COUNTER = "count = 0\ndef f(x):\n    global count\n    count += 1\n    return count\n"


def loaded(runner: Runner, source: str = COUNTER) -> Runner:
    order = wire.Load(source=source, entries=["f"], framework="numpy")
    assert isinstance(runner.load(order), wire.Loaded)
    return runner


def answer(runner: Runner) -> object:
    got = runner.call(wire.Call(id=1, entry="f", args=[X]), 10)
    return got.value if isinstance(got, wire.Returned) else got


def test_each_runner_serves_one_submission() -> None:
    with Pool(limits=LIMITS, framework="numpy") as pool:
        boxes = []
        for _ in range(2):
            with pool.take() as runner:
                boxes.append(runner._box)
                loaded(runner)
                assert [answer(runner), answer(runner)] == [1, 2]
            assert isinstance(answer(runner), Failure)
        assert boxes[0] is not boxes[1]


def test_the_pool_refills_itself_while_a_runner_is_out() -> None:
    with Pool(size=2, limits=LIMITS, framework="numpy") as pool, pool.take():
        deadline = time.monotonic() + 20
        while pool.warm < 2 and time.monotonic() < deadline:
            time.sleep(0.02)
        assert pool.warm == 2
        time.sleep(0.1)
        assert pool.warm == 2  # and no more


def test_waiting_for_a_warm_runner_takes_none() -> None:
    with Pool(limits=LIMITS, framework="numpy") as pool:
        pool.ready()
        assert pool.warm == 1
    with pytest.raises(SandboxUnavailable):
        pool.ready(1)


def test_several_threads_at_once() -> None:
    results: list[object] = []

    def work(pool: Pool, number: int) -> None:
        with pool.take() as runner:
            results.append(answer(loaded(runner, f"def f(x):\n    return {number}\n")))

    with Pool(size=1, limits=LIMITS, framework="numpy") as pool:
        threads = [threading.Thread(target=work, args=(pool, number)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(map(str, results)) == ["0", "1", "2", "3"]


def test_a_runner_outlives_the_thread_that_took_it() -> None:
    taken: list[Runner] = []
    with Pool(limits=LIMITS, framework="numpy") as pool:
        thread = threading.Thread(target=lambda: taken.append(pool.take()))
        thread.start()
        thread.join()
        time.sleep(0.05)
        assert answer(loaded(taken[0])) == 1


def test_closing_the_pool_ends_the_runners_that_are_out() -> None:
    leftovers = Leftovers()
    before = set(descendants(os.getpid()))
    pool = Pool(size=2, limits=LIMITS, framework="numpy")
    runner = loaded(pool.take())
    leftovers.watch(runner)
    pool.close()
    leftovers.assert_none()
    assert isinstance(answer(runner), Failure)
    assert not [pid for pid in set(descendants(os.getpid())) - before if alive(pid)]
    with pytest.raises(SandboxUnavailable):
        pool.take(seconds=1)
    pool.close()


def test_closing_while_a_runner_starts_waits_for_no_import() -> None:
    pool = Pool(limits=LIMITS)
    time.sleep(0.2)
    started = time.monotonic()
    pool.close()
    assert time.monotonic() - started < 3


def test_aborting_from_another_thread_ends_a_call() -> None:
    with Pool(limits=LIMITS, framework="numpy") as pool, pool.take() as runner:
        loaded(runner, "def f(x):\n    while True: pass\n")
        threading.Timer(0.2, runner.abort).start()
        started = time.monotonic()
        failure = answer(runner)
        assert isinstance(failure, Failure) and failure.kind is FailureKind.DIED
        assert time.monotonic() - started < 10


def test_limits_can_be_set_when_a_runner_is_taken() -> None:
    source = "import numpy as np\ndef f(x):\n    return float(np.ones(10_000_000).sum())\n"
    with Pool(limits=LIMITS, framework="numpy") as pool:
        with pool.take() as runner:
            assert answer(loaded(runner, source)) == 1e7
        with pool.take(Limits(memory_bytes=40 << 20)) as runner:
            failure = answer(loaded(runner, source))
            assert isinstance(failure, Failure) and failure.kind is FailureKind.OUT_OF_MEMORY


def test_without_bubblewrap_nothing_runs_and_the_reason_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str, package: str) -> str:
        raise SandboxUnavailable(f"{name} is not installed.", f"Install it: apt-get install {package}")

    monkeypatch.setattr(sandbox, "tool", missing)
    with Pool(limits=LIMITS, framework="numpy") as pool:
        with pytest.raises(SandboxUnavailable) as caught:
            pool.take(seconds=5)
        assert "bwrap is not installed" in caught.value.reason
        assert "apt-get install bubblewrap" in caught.value.what_to_do
        monkeypatch.undo()  # once it is installed, the same pool serves
        deadline = time.monotonic() + 20
        while pool.warm < 1 and time.monotonic() < deadline:
            time.sleep(0.05)
        with pool.take() as runner:
            assert answer(loaded(runner)) == 1


def test_without_such_a_gpu_the_pool_says_which_there_are() -> None:
    none = Pool(Lane.GPU, limits=LIMITS, framework="torch", gpu=99)
    with none as pool, pytest.raises(SandboxUnavailable, match="no GPU 99 here"):
        pool.take()


def test_nothing_starts_while_it_must_be_quiet() -> None:
    with Pool(size=1, limits=LIMITS, framework="numpy") as pool:
        with pool.take() as runner, pool.quiet():
            assert answer(loaded(runner)) == 1
            time.sleep(1.5)  # a start takes a third of that
            assert pool.warm == 0
        pool.ready(20)


def test_a_replacement_rests_unless_somebody_waits() -> None:
    with Pool(size=2, limits=LIMITS, framework="numpy", rest=60.0) as pool:
        deadline = time.monotonic() + 20
        while pool.warm < 2 and time.monotonic() < deadline:
            time.sleep(0.05)
        with pool.take() as first, pool.take() as second:
            time.sleep(1.5)  # a start takes a third of that
            assert pool.warm == 0
            with pool.take(seconds=20) as third:  # long before the rest is over
                assert [answer(loaded(runner)) for runner in (first, second, third)] == [1, 1, 1]


def test_a_replacement_starts_when_it_has_rested() -> None:
    with Pool(size=1, limits=LIMITS, framework="numpy", rest=0.5) as pool:
        pool.ready(20)
        with pool.take():
            deadline = time.monotonic() + 20
            while pool.warm < 1 and time.monotonic() < deadline:
                time.sleep(0.05)
            assert pool.warm == 1


def test_a_runner_that_does_not_come_up_is_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpus, "visible", lambda: [gpus.Gpu(0, "/dev/null", "no GPU at all", "")])
    unfit = Pool(Lane.GPU, limits=LIMITS, framework="torch")
    with unfit as pool, pytest.raises(SandboxUnavailable, match=r"(?i)cuda"):
        pool.take(seconds=60)


def test_frameworks_have_names() -> None:
    with pytest.raises(ValueError, match="jax"):
        Pool(framework="jax")


# A shell that starts us in the background makes us deaf to SIGINT, and what we start too.
PARENT = """
import signal, sys, time, numpy as np
signal.signal(signal.SIGINT, signal.default_int_handler)
from grader import wire
from grader.pool import Limits, Pool
pool = Pool(size=1, limits=Limits(memory_bytes=256 << 20), framework="numpy")
runner = pool.take()
source = "import os, time\\nfor _ in range(3):\\n    if os.fork() == 0: time.sleep(1000)"
runner.load(wire.Load(source=source, entries=[]))
while not pool.warm: time.sleep(0.01)
print("ready", flush=True)
try:
    runner.call(wire.Call(id=1, entry="f", args=[]), 1)
    time.sleep(1000)
finally:
    pool.close()
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_runners_die_with_their_parent(number: signal.Signals) -> None:
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT
    )
    assert parent.stdout is not None and parent.stderr is not None
    with parent.stdout, parent.stderr:
        assert parent.stdout.readline() == b"ready\n"
        pids = list(descendants(parent.pid))
        assert len(pids) >= 8
        parent.send_signal(number)
        parent.wait(10)
    assert not [pid for pid in pids if alive(pid, 3.0)]
    cgroups.sweep()
    assert not list(Path("/sys/fs/cgroup").rglob(f"{cgroups.PREFIX}-{parent.pid}-*"))


def test_user_ids_are_not_shared() -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give each runner a user id of its own")
    with Pool(size=2, limits=LIMITS, framework="numpy") as pool, pool.take() as a, pool.take() as b:
        boxes = [runner._box for runner in (a, b)]
        numbers = {box.uid.number for box in boxes if isinstance(box, Box) and box.uid is not None}
        assert len(numbers) == 2
