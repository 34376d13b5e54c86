"""Runners for tests of timing: one whose clock is made up, and one that runs the real stopwatch on this machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from grader import wire
from grader.failure import Failure, FailureKind
from grader.timing import SAMPLES


@dataclass
class MadeUp:
    """Answers at once and says that it took `exchange` + calls × `call` seconds, with a jitter from `jitter`."""

    call: float
    dry_call: float = 0.0
    exchange: float = 1e-3
    jitter: Iterator[float] = field(default_factory=lambda: iter(lambda: 0.0, None))
    width: int = 4
    seconds: float = 0.0
    orders: list[Any] = field(default_factory=list)

    def time(
        self, order: wire.Stage | wire.Batch | wire.Audit, seconds: float
    ) -> wire.Staged | wire.Timed | wire.Audited | Failure:
        self.orders.append(order)
        if isinstance(order, wire.Stage):
            return wire.Staged(id=order.id, memory_bytes=64 << 30, cache_bytes=1 << 20)
        if isinstance(order, wire.Audit):
            return wire.Audited(id=order.id, parts=[], samples=[])
        each = self.dry_call if order.dry else self.call
        self.seconds = self.exchange + len(order.shifts) * each + next(self.jitter)
        if self.seconds > seconds:
            return Failure(FailureKind.TIME_LIMIT, "It did not finish in time.")
        samples = [bytes(len(order.shifts) * SAMPLES * self.width) for _ in order.positions]
        return wire.Timed(id=order.id, samples=samples, launch_count=len(order.shifts))


class Here:
    """The runner's own stopwatch in this process, on the CPU, calling `entry`; its clock is made up.

    Each call counts as `call` seconds of GPU time, so that cheating that would be fast is fast here too.
    """

    def __init__(self, entry: Callable[..., Any], call: float = 1e-3, written: bool = True) -> None:
        from grader.device import Device
        from grader.stopwatch import Stopwatch

        self._lane = Device()
        self._watch = Stopwatch(self._lane, "cpu")
        self._entry = entry
        self._call = call
        self._written = written
        self.seconds = 0.0
        self.usable = True

    def time(
        self, order: wire.Stage | wire.Batch | wire.Audit, seconds: float
    ) -> wire.Staged | wire.Timed | wire.Audited | Failure:
        from grader.stopwatch import NotAsPromised
        from grader.tensors import Workshop

        self.seconds = 1e-3
        try:
            if isinstance(order, wire.Stage):
                answer: Any = self._watch.stage(order, self._entry, Workshop("torch", "cpu"))
            elif isinstance(order, wire.Audit):
                answer = self._watch.audit(order)
            else:
                answer = self._timed(order)
        except NotAsPromised as error:
            return Failure(FailureKind.REFUSED, str(error))
        if isinstance(answer, wire.Failed):
            return Failure(FailureKind(answer.kind), answer.message)
        return wire.decode_answer(wire.frame(answer)[wire.HEADER :])  # type: ignore[return-value]

    def _timed(self, order: wire.Batch) -> wire.Answer:
        answer = self._watch.batch(order)
        self.seconds += len(order.shifts) * (0.0 if order.dry else self._call)
        if not isinstance(answer, wire.Timed):
            return answer
        moved = [wire.Moved(tensor="ret0", covered=float(self._written))]
        calls = len(order.shifts)
        return wire.Timed(id=answer.id, samples=answer.samples, launch_count=calls, traffic=moved)
