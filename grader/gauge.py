"""What one GPU can do, measured on it by a runner that holds our own few lines and nobody else's: the floor that a
speed is held against, and what stands around each timed call.

Once for a worker's life: `prepare` at its start, or at the first submission that needs it.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from grader import wire
from grader.failure import Failure, Limits
from grader.kit import Output, Raw, Tolerance
from grader.kit.timed import Fresh, Part, Timed
from grader.pool import Pool
from grader.runner import Runner
from grader.timing import Clock, Interval, draw, minus, plan

SECONDS: Final = 20.0  # for one batch of ours
LIMITS: Final = Limits(memory_bytes=4 << 30, total_seconds=300.0, load_seconds=30.0)
OURS: Final = "def copy(x):\n    return x.clone()\n\n\ndef multiply(a, b):\n    return a @ b\n"
LENGTH: Final = 1 << 26  # elements copied: four bytes each, several times any cache
SIDE: Final = 8192  # of the matrices multiplied


class NoGauge(Exception):
    """This GPU could not be measured, which is no learner's fault."""


@dataclass(frozen=True)
class Around:
    """For one timed call: the contents it will draw from, what stands around it, and the GPU's memory."""

    periods: list[Raw]
    dry: Interval
    memory_bytes: int


@dataclass
class Gauge:
    """One GPU's figures. `bandwidth` counts bytes read and written a second; `arithmetic` products and sums."""

    gpu: str
    bandwidth: float
    arithmetic: float
    around: dict[str, Around] = field(default_factory=dict)

    def floor(self, timed: Timed) -> float:
        """Seconds that the call takes at least: its bytes moved once, or its arithmetic, whichever is more."""
        return max(timed.nbytes / self.bandwidth, timed.flops / self.arithmetic)


_gauges: weakref.WeakKeyDictionary[Pool, Gauge] = weakref.WeakKeyDictionary()
_lock: Final = threading.Lock()


def prepare(pool: Pool, timed: Iterable[Timed]) -> Gauge:
    """The figures of the pool's GPU, with those around each of `timed`; measures what is not known yet.

    Raises `NoGauge`, and `SandboxUnavailable` as `Pool.take` does.
    """
    with _lock:
        known = _gauges.get(pool)
        missing = {name(one): one for one in timed if known is None or name(one) not in known.around}
        if known is not None and not missing:
            return known
        with pool.take(LIMITS) as runner, pool.quiet():
            loaded = runner.load(
                wire.Load(source=OURS, entries=["copy", "multiply"], framework="torch", device="cuda:0")
            )
            if isinstance(loaded, Failure):
                raise NoGauge(f"our own file does not load: {loaded.message}")
            gauge = known or _measure(runner, pool.gpu.name if pool.gpu else "GPU")
            for key, one in missing.items():
                gauge.around[key] = _around(runner, one)
        _gauges[pool] = gauge
        return gauge


def name(timed: Timed) -> str:
    """What tells one timed call from another: what it is given and what it returns."""
    shapes = [argument if isinstance(argument, Fresh) else None for argument in timed.args]
    return repr((shapes, [(output.shape, output.dtype) for output in timed.outputs]))


def _measure(runner: Runner, gpu: str) -> Gauge:
    copy = _call("copy", [Fresh((LENGTH,))], (LENGTH,), "fp32")
    product = _call("multiply", [Fresh((SIDE, SIDE), "bf16"), Fresh((SIDE, SIDE), "bf16")], (SIDE, SIDE), "bf16")
    moved, multiplied = _seconds(runner, copy), _seconds(runner, product)
    if not (moved > 0 and multiplied > 0):
        raise NoGauge(f"a copy took {moved * 1e6:.1f} µs and a product {multiplied * 1e6:.1f} µs")
    return Gauge(gpu, copy.nbytes / moved, 2 * SIDE**3 / multiplied)


def _seconds(runner: Runner, timed: Timed) -> float:
    """Of one call of ours."""
    clock, staged = _staged(runner, timed)
    clock.run(2, SECONDS)
    rough = clock.run(4, SECONDS).seconds / 4
    result_bytes = sum(int(np.prod(output.shape)) * 4 for output in timed.outputs)
    chosen = plan(rough, result_bytes, staged.memory_bytes)
    return minus(clock.measure(chosen, SECONDS), clock.measure(chosen, SECONDS, dry=True)).middle


def _around(runner: Runner, timed: Timed) -> Around:
    periods = draw(timed, np.random.default_rng())
    clock, staged = _staged(runner, timed, periods)
    clock.run(2, SECONDS, dry=True)
    rough = clock.run(4, SECONDS, dry=True).seconds / 4
    return Around(
        periods, clock.measure(plan(rough, 1, staged.memory_bytes), SECONDS, dry=True), staged.memory_bytes
    )


def _staged(runner: Runner, timed: Timed, periods: list[Raw] | None = None) -> tuple[Clock, wire.Staged]:
    rng = np.random.default_rng()
    clock = Clock(timed, periods if periods is not None else draw(timed, rng), runner, rng)
    return clock, clock.stage(timed.entry if timed.entry in ("copy", "multiply") else "copy", SECONDS)


def _call(entry: str, args: list[Fresh], shape: tuple[int, ...], dtype: str) -> Timed:
    return Timed(entry, tuple(args), (Output("result", shape, dtype, _unchecked),), _nothing, entry)


def _unchecked(*_: object) -> Tolerance:
    raise NotImplementedError("our own calls are not compared")


def _nothing(rng: np.random.Generator) -> Part:
    raise NotImplementedError("our own calls are not audited")
