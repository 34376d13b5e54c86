"""How long one call takes on a GPU, by the judge's clock. Nothing that a runner says about time is believed.

The judge orders a batch of calls and waits for the answer; a small batch and a large one differ in the number of
calls only, so the difference of their times over the difference of their calls is free of what an exchange costs.
What stands around each call (new contents, emptying the cache, copying a few elements out) is timed the same way in
dry batches by a runner without a learner's code, and taken off.

Reading order: `interval` and `minus` (statistics, pure) → `plan` → `Clock.stage` → `Clock.measure` → `Clock.audit`.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

import numpy as np

from grader import wire
from grader.failure import Failure
from grader.kit import Raw, Values, decode, encode
from grader.kit.timed import Fresh, Slices, Timed

CONFIDENCE: Final = 0.95
BATCH_SECONDS: Final = 0.02  # of a large batch: long against the jitter of an exchange
TOTAL_SECONDS: Final = 0.6  # for all batches of one measurement
MOST_CALLS: Final = 64
LEAST_CALLS: Final = 4
MOST_REPEATS: Final = 15
LEAST_REPEATS: Final = 7
SAMPLES: Final = 512  # elements of each output that are copied out right behind each call
PERIOD: Final = 1_000_003  # elements; prime, so that no two rows hold the same before the period has gone by a row
SHARE_OF_MEMORY: Final = 0.25  # of the GPU's, for the results of one batch


@dataclass(frozen=True)
class Interval:
    """Seconds: the median, and the bounds that hold it with `CONFIDENCE`."""

    middle: float
    low: float
    high: float


def interval(samples: Sequence[float]) -> Interval:
    """The median of `samples`, with bounds from their order alone: no distribution is assumed.

    Each of n samples lies below the true median with chance 1/2, so their k-th smallest and k-th largest enclose it
    but for twice the chance of fewer than k heads in n throws. Raises `ValueError` for less than `LEAST_REPEATS`.
    """
    if len(samples) < LEAST_REPEATS or not all(math.isfinite(sample) for sample in samples):
        raise ValueError(f"an interval needs {LEAST_REPEATS} finite samples")
    ordered, count = sorted(samples), len(samples)
    outside, cut = 0.0, 0
    while cut < count // 2:
        outside += 2 * math.comb(count, cut) / 2**count
        if outside > 1 - CONFIDENCE:
            break
        cut += 1
    cut = max(cut, 1)
    return Interval(statistics.median(ordered), ordered[cut - 1], ordered[count - cut])


def minus(whole: Interval, part: Interval) -> Interval:
    """The difference, with bounds for the worst of both."""
    return Interval(whole.middle - part.middle, whole.low - part.high, whole.high - part.low)


@dataclass(frozen=True)
class Plan:
    """How many calls a small and a large batch make, and how often both are run."""

    few: int
    many: int
    repeats: int


def plan(call_seconds: float, result_bytes: int, memory_bytes: int) -> Plan:
    """For calls of about `call_seconds` each, whose results are all kept until the batch is over."""
    seconds = max(call_seconds, 1e-6)
    fits = int(memory_bytes * SHARE_OF_MEMORY) // max(result_bytes, 1)
    many = max(LEAST_CALLS, min(MOST_CALLS, round(BATCH_SECONDS / seconds), fits))
    few = max(1, many // 8)
    repeats = max(LEAST_REPEATS, min(MOST_REPEATS, int(TOTAL_SECONDS / (seconds * (few + many)))))
    return Plan(few, many, repeats)


class Timer(Protocol):
    """The part of a runner that a clock needs."""

    @property
    def seconds(self) -> float:
        """What the last exchange took, by our clock."""

    def time(
        self, order: wire.Stage | wire.Batch | wire.Audit, seconds: float
    ) -> wire.Staged | wire.Timed | wire.Audited | Failure: ...


class Stopped(Exception):
    """The runner did not get through; `failure` says why."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


@dataclass(frozen=True)
class Ran:
    """One batch as it was ordered and answered."""

    order: wire.Batch
    answer: wire.Timed
    seconds: float


class Clock:
    """Times one call in one runner. `rng` must be secret: it chooses contents, samples and audits."""

    def __init__(self, timed: Timed, periods: Sequence[Raw], runner: Timer, rng: np.random.Generator) -> None:
        """`periods` are the contents of the fresh arguments, in order; see `draw`."""
        self.timed = timed
        self._periods = periods
        self._runner = runner
        self._rng = rng
        self._id = 0

    def stage(self, entry: str, seconds: float) -> wire.Staged:
        """Have everything laid out for calls of `entry`. Raises `Stopped`."""
        fresh = [argument for argument in self.timed.args if isinstance(argument, Fresh)]
        periods = iter(self._periods)
        order = wire.Stage(
            id=self._next(),
            entry=entry,
            args=[None if isinstance(a, Fresh) else sent(a) for a in self.timed.args],
            fresh={
                position: wire.Fresh(dtype=a.dtype, shape=a.shape, period=next(periods).tobytes())
                for position, a in enumerate(self.timed.args)
                if isinstance(a, Fresh)
            },
            outputs=[wire.Promised(dtype=output.dtype, shape=output.shape) for output in self.timed.outputs],
        )
        assert len(fresh) == len(self._periods)
        answer = self._ask(order, seconds)
        assert isinstance(answer, wire.Staged)
        return answer

    def run(self, calls: int, seconds: float, *, dry: bool = False, watched: bool = False) -> Ran:
        """One batch, with new contents for each call. Raises `Stopped`."""
        sizes = [math.prod(output.shape) for output in self.timed.outputs]
        order = wire.Batch(
            id=self._next(),
            shifts=self._rng.integers(0, PERIOD, (calls, len(self._periods))).tolist(),
            positions=[self._rng.integers(0, size, SAMPLES).tolist() for size in sizes],
            dry=dry,
            watched=watched,
        )
        answer = self._ask(order, seconds)
        assert isinstance(answer, wire.Timed)
        return Ran(order, answer, self._runner.seconds)

    def measure(
        self, chosen: Plan, seconds: float, *, dry: bool = False, after: Callable[[Ran], None] = lambda ran: None
    ) -> Interval:
        """Seconds of one call with all that stands around it. `after` gets each large batch. Raises `Stopped`."""
        self.run(chosen.many, seconds, dry=dry)  # the memory for all results, and a clock at its height
        slopes = []
        for _ in range(chosen.repeats):
            small = self.run(chosen.few, seconds, dry=dry)
            large = self.run(chosen.many, seconds, dry=dry)
            slopes.append((large.seconds - small.seconds) / (chosen.many - chosen.few))
            after(large)
        return interval(slopes)

    def audit(self, call: int, cuts: Sequence[Slices], seconds: float) -> wire.Audited:
        """Parts of what one call of the last batch returned. Raises `Stopped`."""
        parts = [[(cut.start, cut.stop) for cut in piece] for piece in cuts]
        answer = self._ask(wire.Audit(id=self._next(), call=call, parts=parts), seconds)
        assert isinstance(answer, wire.Audited)
        return answer

    def _next(self) -> int:
        self._id += 1
        return self._id

    def _ask(
        self, order: wire.Stage | wire.Batch | wire.Audit, seconds: float
    ) -> wire.Staged | wire.Timed | wire.Audited:
        answer = self._runner.time(order, seconds)
        if isinstance(answer, Failure):
            raise Stopped(answer)
        return answer


def draw(timed: Timed, rng: np.random.Generator) -> list[Raw]:
    """A period of contents for each fresh argument."""
    return [encode(a.spread * rng.standard_normal(PERIOD), a.dtype) for a in timed.args if isinstance(a, Fresh)]


def contents(fresh: Fresh, period: Raw, shift: int, piece: Slices) -> Values:
    """A piece of what the argument held in the call whose contents began at element `shift` of `period`."""
    index = np.zeros((), dtype=np.int64)
    for axis, cut in enumerate(piece):
        stride = math.prod(fresh.shape[axis + 1 :])
        index = index[..., None] + np.arange(cut.start, cut.stop, dtype=np.int64) * stride
    return decode(period[(shift + index) % len(period)], fresh.dtype)


def sent(argument: Any) -> wire.Value:
    """An argument that stays the same in all calls, as it travels."""
    if not hasattr(argument, "storage"):
        return argument
    return wire.Array(
        dtype=argument.dtype,
        shape=argument.shape,
        strides=argument.strides,
        offset=argument.offset,
        storage=argument.storage.tobytes(),
    )
