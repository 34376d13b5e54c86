"""The full-size call of a drill, timed and audited: a case like the others, and a figure if it passes.

Every timed call gets new contents. After some batches, drawn by chance, one of their calls is looked at: a part of
its result is compared with the reference, and it must still be what was copied out right behind the call. A call
that is answered from memory, is not finished when it returns, or does something else when it is timed, shows there.
A time below what the GPU needs to move the bytes once is an error, whoever made it, never a record.

Reading order: `judge_speed` → `_Timing.result` → `_Timing._audit` → `_Timing._speed`.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from grader import messages
from grader.compare import compare
from grader.gauge import Gauge, NoGauge, name
from grader.judge import Bench, Judged, explain
from grader.kit import DTYPES, Case, Output, decode, generator
from grader.kit.timed import Fresh, Part, Slices, Timed
from grader.rules import written_by_kernels
from grader.runner import Runner
from grader.suite import BrokenDrill
from grader.timing import SAMPLES, Clock, Interval, Ran, Stopped, contents, minus, plan
from grader.verdict import CaseResult, Outcome, Speed
from grader.wire import Array, Malformed, to_numpy

AUDITS: Final = 3
SLOWEST: Final = 0.25  # seconds of one call: a measurement makes some forty
BELOW: Final = 0.95  # of the floor: what the floor itself may be wrong by


class Caught(Exception):
    """A timed call was not what it should be; `words` are for the learner."""

    def __init__(self, outcome: Outcome, words: str) -> None:
        super().__init__(words)
        self.outcome = outcome
        self.words = words


class TooFast(Exception):
    """Less time than the bytes need."""


@dataclass(frozen=True)
class Timing:
    """The case, and the speed if it passed."""

    judged: Judged
    speed: Speed | None = None


def judge_speed(bench: Bench, timed: Timed, runner: Runner, gauge: Gauge, seconds: float) -> Timing:
    """Time `timed` in a runner that has the learner's file; one batch may take `seconds`. Never raises for them."""
    began = time.perf_counter()
    timing = _Timing(bench, timed, runner, gauge, seconds)
    outcome, words, problem, speed = Outcome.ACCEPTED, "", "", None
    line = None
    try:
        speed = timing.result()
    except Caught as caught:
        outcome, words = caught.outcome, caught.words
    except Stopped as stopped:
        outcome, words = explain(stopped.failure, bench.drill, seconds)
        line = stopped.failure.line
        problem = f"timing: {stopped.failure.kind}: {stopped.failure.message}"
    except TooFast as error:
        outcome, words, problem = Outcome.GRADER_PROBLEM, messages.too_fast(), f"timing: {error}"
    except (BrokenDrill, Malformed, NoGauge) as error:
        outcome, words, problem = Outcome.GRADER_PROBLEM, messages.GRADER_PROBLEM, f"timing: {error}"
    result = CaseResult(
        name=messages.TIMED,
        visible=True,
        outcome=outcome,
        shape=timed.words,
        dtype=timed.outputs[0].dtype,
        error=timing.error if outcome is Outcome.ACCEPTED else None,
        detail=words,
        line=line,
        seconds=time.perf_counter() - began,
    )
    case = Case(messages.TIMED, "speed", {}, dtype=timed.outputs[0].dtype, visible=True, about=timed.words)
    problem = problem if outcome is Outcome.GRADER_PROBLEM else ""
    return Timing(Judged(case=case, result=result, runner_lost=not runner.usable, problem=problem), speed)


class _Timing:
    """One measurement with its audits."""

    def __init__(self, bench: Bench, timed: Timed, runner: Runner, gauge: Gauge, seconds: float) -> None:
        self.bench = bench
        self.timed = timed
        self.gauge = gauge
        self.seconds = seconds
        self.error = 0.0  # the largest of all audits, in units of tolerance
        self._rng = generator(bench.seed, bench.drill.id, "timing")
        self._around = gauge.around[name(timed)]
        self._clock = Clock(timed, self._around.periods, runner, self._rng)
        self._audited = 0

    def result(self) -> Speed:
        """The speed. Raises `Caught`, `Stopped`, `TooFast`, `BrokenDrill` or `Malformed`."""
        self._clock.stage(self.timed.entry, self.seconds)
        self._watch()
        self._clock.run(2, self.seconds)  # compiled and tuned by now
        rough = self._clock.run(3, self.seconds).seconds / 3
        if not rough <= SLOWEST:
            raise Caught(Outcome.TIME_LIMIT, messages.too_slow_to_time(rough, SLOWEST))
        result_bytes = sum(math.prod(o.shape) * DTYPES[o.dtype].storage.itemsize for o in self.timed.outputs)
        chosen = plan(rough, result_bytes, self._around.memory_bytes)
        looked_at = set(self._rng.choice(chosen.repeats, AUDITS, replace=False).tolist())
        watched_after = int(self._rng.integers(chosen.repeats))
        batches = iter(range(chosen.repeats))

        def after(ran: Ran) -> None:
            self._check(ran)
            number = next(batches)
            if number in looked_at:
                self._audit(ran)
            if number == watched_after:
                self._watch()

        whole = self._clock.measure(chosen, self.seconds, after=after)
        calls = chosen.repeats * (chosen.few + chosen.many)
        return self._speed(minus(whole, self._around.dry), calls)

    def _watch(self) -> None:
        """One call that is not timed, at a moment that nobody can foresee: who computes the result?"""
        ran = self._clock.run(1, self.seconds, watched=True)
        self._check(ran)
        self._audit(ran)
        self._audited -= 1
        rules = self.bench.drill.rules
        if rules.written_by_kernel and self.bench.drill.framework == "triton":
            written = written_by_kernels(ran.answer.traffic, len(self.timed.outputs))
            if not written:
                raise Caught(Outcome.RULE_BROKEN, messages.timed_elsewhere(self.timed.entry))

    def _check(self, ran: Ran) -> None:
        """The answer has what was asked for; each call launched a kernel where the rules want that."""
        calls = len(ran.order.shifts)
        for output, samples in zip(self.timed.outputs, ran.answer.samples, strict=True):
            if len(samples) != calls * SAMPLES * DTYPES[output.dtype].storage.itemsize:
                raise Malformed("a batch with too few or too many samples")
        rules = self.bench.drill.rules
        if rules.written_by_kernel and self.bench.drill.framework == "triton" and ran.answer.launch_count < calls:
            raise Caught(Outcome.RULE_BROKEN, messages.no_kernel_ran(self.timed.entry))

    def _audit(self, ran: Ran) -> None:
        """One call of the batch, drawn now: a part of its result, drawn now, against the reference."""
        call = int(self._rng.integers(len(ran.order.shifts)))
        part = self.timed.part(self._rng)
        got = self._clock.audit(call, part.outputs, self.seconds)
        if len(got.parts) != len(self.timed.outputs) or len(got.samples) != len(self.timed.outputs):
            raise Malformed("an audit with too few or too many outputs")
        inputs = self._inputs(part, ran.order.shifts[call])
        expected = self._expected(inputs)
        for number, (output, array) in enumerate(zip(self.timed.outputs, got.parts, strict=True)):
            width = SAMPLES * DTYPES[output.dtype].storage.itemsize
            before = ran.answer.samples[number][call * width : (call + 1) * width]
            positions, piece = ran.order.positions[number], part.outputs[number]
            if got.samples[number] != before or not _agrees(output, piece, array, positions, before):
                raise Caught(Outcome.RULE_BROKEN, messages.timed_late(self.timed.entry))
            self._compare(output, array, expected[number], inputs)
        self._audited += 1

    def _inputs(self, part: Part, shifts: list[int]) -> list[Any]:
        """What the reference is given: pieces of the fresh arguments as they were in that call."""
        remaining = iter(zip(self._around.periods, shifts, strict=True))
        values: list[Any] = []
        for argument, piece in zip(self.timed.args, part.args, strict=True):
            if isinstance(argument, Fresh):
                period, shift = next(remaining)
                assert piece is not None
                values.append(contents(argument, period, shift, piece))
            else:
                values.append(getattr(argument, "values", argument))
        return values

    def _expected(self, inputs: list[Any]) -> list[Any]:
        result = self.bench.answers.reference[self.timed.entry](*inputs)
        parts = result if isinstance(result, tuple) else (result,)
        arrays = [np.asarray(one, dtype=np.float64) for one in parts]
        if len(arrays) != len(self.timed.outputs) or any(np.isnan(array).any() for array in arrays):
            raise BrokenDrill("the reference does not give the outputs of the timed call")
        return arrays

    def _compare(self, output: Output, array: Array, expected: Any, inputs: list[Any]) -> None:
        if array.dtype != output.dtype or array.shape != expected.shape:
            raise Malformed("an audited part of another type or shape")
        arrays = tuple(value for value in inputs if isinstance(value, np.ndarray))
        actual = decode(to_numpy(array), array.dtype)
        found = compare(output.name, actual, expected, output.tolerance(expected, arrays), None, arrays)
        if not found.accepted:
            raise Caught(Outcome.WRONG_ANSWER, messages.timed_wrong(output.name, found.error))
        self.error = max(self.error, found.error or 0.0)

    def _speed(self, taken: Interval, calls: int) -> Speed:
        floor = self.gauge.floor(self.timed)
        if not taken.high >= floor * BELOW:
            raise TooFast(f"{taken.high * 1e6:.1f} µs at most, the floor is {floor * 1e6:.1f} µs")
        arithmetic = self.timed.flops / self.gauge.arithmetic
        return Speed(
            case=self.timed.words,
            gpu=self.gauge.gpu,
            microseconds=taken.middle * 1e6,
            low=taken.low * 1e6,
            high=taken.high * 1e6,
            floor=floor * 1e6,
            percent=min(100.0, 100.0 * floor / max(taken.middle, floor * BELOW)),
            bound="arithmetic" if arithmetic >= floor else "bandwidth",
            calls=calls,
            audited=self._audited,
        )


def _agrees(output: Output, piece: Slices, array: Array, positions: list[int], samples: bytes) -> bool:
    """Where samples lie in the audited part, are they the same bits?"""
    kind = DTYPES[output.dtype].storage
    bits = np.dtype(f"u{kind.itemsize}")
    index = np.unravel_index(np.asarray(positions), output.shape)
    inside = np.ones(len(positions), dtype=bool)
    for place, cut in zip(index, piece, strict=True):
        inside &= (place >= cut.start) & (place < cut.stop)
    where = tuple(place[inside] - cut.start for place, cut in zip(index, piece, strict=True))
    part = np.ascontiguousarray(to_numpy(array)).view(bits)
    if part.shape != tuple(cut.stop - cut.start for cut in piece):
        return False
    return bool(np.array_equal(part[where], np.frombuffer(samples, dtype=bits)[inside]))
