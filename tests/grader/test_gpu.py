"""The GPU lane on a GPU: real runners, real kernels. Skipped where there is none."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from grader import gpus, wire
from grader.drill import Drill, load_drills
from grader.grade import grade
from grader.pool import Failure, Limits, Pool, Runner
from grader.verdict import Decided, Lane, Outcome, Verdict

pytestmark = [pytest.mark.sandbox, pytest.mark.skipif(not gpus.visible(), reason="there is no GPU here")]

DRILLS = Path(__file__).parents[2] / "drills"
X = np.linspace(-2, 2, 1000, dtype=np.float32)
SOURCE = """\
import torch
import triton
import triton.language as tl


@triton.jit
def double_kernel(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at, mask=at < n) * 2, mask=at < n)


def double(x, y=None):
    y = torch.empty_like(x) if y is None else y
    grid = lambda values: (triton.cdiv(x.numel(), values["BLOCK"]),)
    double_kernel[grid](x, y, x.numel(), BLOCK=128, num_warps=2)
    return y


def by_library(x):
    double(x)
    return x * 2


def carried(x):
    return double(x * 0.5 * 2)


def into_zeros(x):
    return double(x, torch.zeros_like(x))


def forgotten(x):
    return torch.empty_like(x)


def where(x):
    return [torch.cuda.device_count(), x.device.index]
"""
NAMES = ["double", "by_library", "carried", "into_zeros", "forgotten", "where"]


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with Pool(Lane.GPU, 2) as made:
        yield made


@pytest.fixture(scope="module")
def runner(pool: Pool) -> Iterator[Runner]:
    with pool.take(Limits(memory_bytes=2 << 30)) as made:
        order = wire.Load(source=SOURCE, entries=NAMES, device="cuda:0")
        assert isinstance(made.load(order), wire.Loaded)
        yield made


def run(runner: Runner, entry: str, *, muted: bool = False) -> wire.Returned:
    answer = runner.call(wire.Call(id=1, entry=entry, args=[wire.from_numpy(X)], muted=muted), 30)
    assert not isinstance(answer, Failure), answer
    return answer


def test_a_launch_says_grid_constants_and_warps(runner: Runner) -> None:
    answer = run(runner, "double")
    np.testing.assert_array_equal(wire.to_numpy(answer.value), 2 * X)
    (launch,) = answer.launches
    assert (launch.kernel, launch.grid, launch.constants) == ("double_kernel", (8, 1, 1), {"BLOCK": 128})
    assert launch.num_warps == 2


def test_compiling_is_told_apart(runner: Runner) -> None:
    run(runner, "double")
    assert run(runner, "double").compile_seconds == 0.0


def test_who_wrote_the_result(runner: Runner) -> None:
    def told(entry: str) -> tuple[float, bool]:
        moved = {row.tensor: row for row in run(runner, entry).traffic}
        return moved["ret0"].covered, any(row.foreign_bytes for row in moved.values())

    assert told("double") == (1.0, False)
    assert told("into_zeros") == (1.0, False)
    assert told("by_library") == (0.0, False)
    assert told("carried") == (1.0, True)
    assert told("forgotten") == (0.0, False)


def test_memory_that_nobody_wrote_holds_nan(runner: Runner) -> None:
    assert np.isnan(wire.to_numpy(run(runner, "forgotten").value)).all()


def test_with_launches_switched_off_nothing_is_computed(runner: Runner) -> None:
    muted = run(runner, "double", muted=True)
    assert np.isnan(wire.to_numpy(muted.value)).all() and muted.launch_count == 1
    np.testing.assert_array_equal(wire.to_numpy(run(runner, "double").value), 2 * X)


def test_a_runner_sees_one_gpu(runner: Runner) -> None:
    assert run(runner, "where").value == [1, 0]


@pytest.fixture(scope="module")
def softmax() -> Drill:
    return load_drills(DRILLS)["tiled_softmax"]


def verdict(drill: Drill, source: str, pool: Pool) -> Verdict:
    events = grade(drill, source, Lane.GPU, pool=pool, seed=secrets.token_bytes(16))
    return next(event.verdict for event in events if isinstance(event, Decided))


def test_a_right_kernel_gets_its_speed(softmax: Drill, pool: Pool) -> None:
    found = verdict(softmax, (softmax.folder / "correct" / "one_tile.py").read_text(), pool)
    assert found.outcome is Outcome.ACCEPTED, found
    assert found.speed is not None and found.speed.low <= found.speed.microseconds <= found.speed.high
    assert 0 < found.speed.percent <= 100 and found.speed.audited == 3
    assert found.timings.compile > 0


@pytest.mark.parametrize("name", ["library_call", "phantom_zero", "copied_result"])
def test_wrong_ones_do_not(softmax: Drill, pool: Pool, name: str) -> None:
    found = verdict(softmax, (softmax.folder / "mutants" / f"{name}.py").read_text(), pool)
    assert found.outcome in (Outcome.WRONG_ANSWER, Outcome.RULE_BROKEN) and found.speed is None
