"""One case, judged: draw inputs, know the answer, have the learner's code called, compare. Runs no learner code.

The judge owns the clock, the seed and the answers. What comes back from a runner has been checked by `wire` to be a
message at all; here it must also be what the contract promises, element by element, and nothing is taken on trust.

Reading order: `judge_case` → `_exchange` (one call) → `_examine` (one reply).
"""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import msgspec
import numpy as np

from grader import messages, wire
from grader.abilities import counts_traffic
from grader.compare import Comparison, Feature, Tiling, compare
from grader.compare_exact import compare_exactly
from grader.drill import Drill
from grader.kit import (
    DTYPES,
    Argument,
    Ask,
    Case,
    Checked,
    Exact,
    Output,
    Placed,
    Reply,
    Served,
    Values,
    decode,
    generator,
)
from grader.pool import Failure
from grader.rules import block_for, blocks_of, broken_rule, traffic
from grader.serving import Service, as_given, handles
from grader.suite import Answers, BrokenDrill
from grader.verdict import Calls, CaseResult, Finding, Lane, Mark, Outcome, Report, Traffic
from grader.wire import Array, Call, Given, Malformed, Other, Replay, Returned, Wanted, to_numpy


class Caller(Protocol):
    """The part of a runner that the judge needs."""

    def call(
        self, call: Call, seconds: float, serve: Callable[[Wanted], Given] | None = None
    ) -> Returned | Failure: ...


class Replayer(Protocol):
    """The part of a replayer that the judge needs."""

    def call(self, order: Replay, seconds: float) -> Returned | Failure: ...


@dataclass(frozen=True)
class Bench:
    """What stays the same over all cases of one submission. `seed` is secret."""

    drill: Drill
    answers: Answers
    lane: Lane
    seed: bytes


@dataclass(frozen=True)
class Judged:
    """A case's result, with what only our side may know of it."""

    case: Case
    result: CaseResult
    features: tuple[Feature, ...] = ()
    blocks: tuple[int, ...] = ()  # tile lengths that were launched
    traffic: tuple[Traffic, ...] = ()
    findings: tuple[Finding, ...] = ()  # what the lane remarked on
    run: float = 0.0  # seconds in the learner's code
    compile: float = 0.0  # of these, compiling kernels, by what the runner says
    judge: float = 0.0  # seconds in ours
    runner_lost: bool = False  # the runner can't be called again
    problem: str = ""  # for operators, with `Outcome.GRADER_PROBLEM`
    calls: tuple[tuple[Ask, Returned], ...] = ()  # what was asked and answered, without the values
    question: str = ""  # that a check asks
    in_kernel: bool = False  # a kernel failed, as its lane says, and not the code around it

    @property
    def accepted(self) -> bool:
        return self.result.outcome is Outcome.ACCEPTED


@dataclass
class _Call:
    """How one call of a case went, filled in as it is examined."""

    outcome: Outcome = Outcome.ACCEPTED
    detail: str = ""
    line: int | None = None
    features: tuple[Feature, ...] = ()
    comparison: Comparison | None = None
    error: float = 0.0
    outputs: list[Any] = field(default_factory=list)
    blocks: tuple[int, ...] = ()
    traffic: tuple[Traffic, ...] = ()
    findings: tuple[Finding, ...] = ()
    run: float = 0.0
    compile: float = 0.0
    runner_lost: bool = False
    problem: str = ""
    call: tuple[Ask, Returned] | None = None
    served: Calls | None = None
    report: Report | None = None
    question: str = ""
    in_kernel: bool = False

    def end(self, outcome: Outcome, *features: Feature) -> None:
        """It ends here; the words of the first feature say why."""
        self.outcome, self.detail, self.features = outcome, features[0].words, features


def judge_case(bench: Bench, case: Case, runner: Caller, seconds: float) -> Judged:
    """Play `case` against the learner's code, which has `seconds` for it. Never raises for anything they do."""
    started = time.perf_counter()
    calls: list[_Call] = []
    try:
        _play(bench, case, runner, seconds, calls)
    except (BrokenDrill, Malformed) as error:
        calls.append(_problem(f"case {case.name!r}: {error}"))
    except Exception as error:  # a suite or reference that fails is our fault, never the learner's
        calls.append(_problem(f"case {case.name!r}: {type(error).__name__}: {error}"))
    return _judged(bench, case, calls, time.perf_counter() - started)


def _play(bench: Bench, case: Case, runner: Caller, seconds: float, calls: list[_Call]) -> None:
    play = bench.answers.suite.play(case, generator(bench.seed, bench.drill.id, case.name))
    left = seconds
    ask = next(play)
    while True:
        call = _exchange(bench, ask, runner, left, len(calls))
        calls.append(call)
        left -= call.run
        if call.outcome is not Outcome.ACCEPTED:
            play.close()
            return
        try:
            ask = play.send(Reply(tuple(call.outputs)))
        except StopIteration:
            return


def _exchange(bench: Bench, ask: Ask, runner: Caller, seconds: float, number: int) -> _Call:
    """One call: send the inputs, time it, examine what came back."""
    expected = bench.answers.expected(ask)
    written = {output.argument for output in ask.outputs if output.argument is not None}
    order = Call(
        id=number,
        entry=ask.entry,
        args=[_travels(position, argument) for position, argument in enumerate(ask.args)],
        return_args=sorted(written | set(ask.reuse)),
    )
    service = Service(ask)
    started = time.perf_counter()
    reply = runner.call(order, seconds, service) if service else runner.call(order, seconds)
    call = _Call(run=time.perf_counter() - started - service.seconds, served=service.calls)
    call.findings = tuple(_finding(found) for found in reply.findings)
    if served := service.overdrawn:
        call.end(Outcome.RULE_BROKEN, Feature("calls", messages.too_many_calls(served.name, served.limit)))
        call.runner_lost = isinstance(reply, Failure) and reply.kind in LOST
    elif isinstance(reply, Failure):
        if reply.kind != "raised" or not ask.raises:
            _failed(call, bench.drill, reply, seconds)
        elif complaint := _not_as_asked(bench.drill, ask, reply):
            call.end(complaint[0], complaint[1])
            call.line = reply.line
    elif reply.id != number:
        return _problem(f"the runner answered call {reply.id} instead of {number}")
    else:
        told = reply.compile_seconds
        call.compile = min(told, call.run) if told > 0 else 0.0  # NaN is not
        call.call = ask, msgspec.structs.replace(reply, value=None, args={})
        _examine(call, bench, ask, reply, expected)
    return call


def judge_again(
    bench: Bench, ask: Ask, order: Replay, runner: Replayer, seconds: float
) -> tuple[Outcome, str, str]:
    """Judge `order`, which plays `ask` without host code: outcome, words, the trouble for operators."""
    expected = bench.answers.expected(ask)
    reply = runner.call(order, seconds)
    call = _Call()
    if isinstance(reply, Failure):
        if reply.kind == "time_limit":
            return Outcome.TIME_LIMIT, messages.too_slow_alone(), ""
        if reply.kind not in ("raised", "refused", "compile_error", "out_of_memory", "died"):
            return Outcome.GRADER_PROBLEM, messages.GRADER_PROBLEM, f"replay: {reply.kind}: {reply.message}"
        return Outcome.RULE_BROKEN, messages.not_run_again(reply.message), ""
    _examine(call, bench, ask, reply, expected)
    if call.outcome in (Outcome.ACCEPTED, Outcome.WRONG_ANSWER):
        return call.outcome, call.detail, ""
    return Outcome.RULE_BROKEN, messages.wrong_without_host(call.detail), ""


def _finding(found: wire.Finding) -> Finding:
    severity = found.severity if found.severity in ("warning", "error") else "warning"
    return Finding(
        line=found.line if found.line > 0 else None, text=messages.plain(found.text, 600), severity=severity
    )


def _travels(position: int, argument: Argument) -> wire.Value:
    if isinstance(argument, Served):
        return handles(position, argument)
    return sent(argument) if isinstance(argument, Placed) else argument


def sent(argument: Placed) -> Array:
    return Array(
        dtype=argument.dtype,
        shape=argument.shape,
        strides=argument.strides,
        offset=argument.offset,
        storage=argument.storage.tobytes(),
    )


KERNEL_ERROR = "KernelError"  # what the interpreter raises derives from it
OUTCOMES = {
    "compile_error": Outcome.COMPILE_ERROR,
    "missing_entry": Outcome.COMPILE_ERROR,
    "raised": Outcome.RUNTIME_ERROR,
    "died": Outcome.RUNTIME_ERROR,
    "refused": Outcome.RUNTIME_ERROR,
    "time_limit": Outcome.TIME_LIMIT,
    "out_of_memory": Outcome.OUT_OF_MEMORY,
    "output_limit": Outcome.OUTPUT_LIMIT,
    "malformed": Outcome.RULE_BROKEN,  # docs/adr/0015
}
LOST = frozenset({"died", "time_limit", "out_of_memory", "output_limit", "malformed"})


def explain(failure: Failure, drill: Drill, seconds: float) -> tuple[Outcome, str]:
    """The outcome of a failure of the learner's code, and its words. A kind we do not know is a problem of ours."""
    outcome = OUTCOMES.get(failure.kind, Outcome.GRADER_PROBLEM)
    limits = drill.limits
    words = {
        "died": messages.died(failure.message),
        "refused": messages.refused(failure.message),
        "time_limit": messages.too_slow(seconds) if seconds >= limits.call_seconds else "",
        "out_of_memory": messages.out_of_memory(limits.memory_mib),
        "output_limit": messages.too_much_output(limits.output_kib),
        "malformed": messages.wrote_to_the_channel(failure.message),
    }.get(failure.kind)
    if words is None:
        words = messages.raised(failure.message, failure.traceback)
    return outcome, words or messages.no_time_left(limits.total_seconds)


def _failed(call: _Call, drill: Drill, failure: Failure, seconds: float) -> None:
    outcome, words = explain(failure, drill, seconds)
    call.end(outcome, Feature(failure.kind, words))
    call.line = failure.line
    call.in_kernel = KERNEL_ERROR in failure.error
    call.runner_lost = failure.kind in LOST or failure.kind not in OUTCOMES
    if call.outcome is Outcome.GRADER_PROBLEM:
        call.problem = f"{failure.kind}: {messages.plain(failure.message, 500)}"


def _not_as_asked(drill: Drill, ask: Ask, failure: Failure) -> tuple[Outcome, Feature] | None:
    """The call had to raise and did: is it the exception that the contract names, and is everything untouched?"""
    if ask.raises not in failure.error:
        words = messages.wrong_exception(ask.raises, failure.message)
        return Outcome.WRONG_ANSWER, Feature("exception", words)
    complaint = _changed(drill, ask, failure.args_digest, {})
    return (Outcome.WRONG_ANSWER, complaint) if complaint else None


def _examine(call: _Call, bench: Bench, ask: Ask, reply: Returned, expected: tuple[Any, ...]) -> None:
    """Types and shapes, then values, then what was changed, then the rules: the first that is wrong ends it."""
    counted = counts_traffic(bench.lane)
    call.blocks = blocks_of(reply.launches)
    call.traffic = traffic(bench.drill, ask, reply) if counted else ()
    if ask.raises:
        return call.end(Outcome.WRONG_ANSWER, Feature("exception", messages.no_exception(ask.raises)))
    results, complaint = _outputs(bench.drill, ask, reply)
    if complaint:
        return call.end(Outcome.WRONG_ANSWER, complaint)
    call.outputs = results
    for name, found, words in _compared(call, ask, results, expected):
        if not found.accepted:
            call.comparison = found
            # Of several outputs, which one goes wrong first says much about the fault.
            first = (Feature(f"first_{name}", f"the {name} is wrong"),) if len(ask.outputs) > 1 else ()
            return call.end(Outcome.WRONG_ANSWER, Feature("values", words), *first, *found.features)
        call.error = max(call.error, found.error or 0.0)
    if complaint := _changed(bench.drill, ask, reply.args_digest, reply.args):
        return call.end(Outcome.RULE_BROKEN, complaint)
    if complaint := _too_much_memory(ask, reply):
        return call.end(Outcome.RULE_BROKEN, complaint)
    if complaint := broken_rule(bench.drill, ask, reply, counted=counted):
        return call.end(Outcome.RULE_BROKEN, complaint)
    return None


def _compared(
    call: _Call, ask: Ask, results: Sequence[Any], expected: tuple[Any, ...]
) -> Iterator[tuple[str, Comparison, str]]:
    """Each output's name with how it compares, and the words for the learner should it be wrong."""
    inputs = tuple(argument.values for argument in ask.args if isinstance(argument, Placed))
    for output, actual, wanted in zip(ask.outputs, results, expected, strict=True):
        if isinstance(output, Exact):
            yield output.name, compare_exactly(output.name, actual, wanted), messages.wrong_value(output.name)
            continue
        if isinstance(output, Checked):
            yield output.name, _checked(call, output, actual), call.report.words if call.report else ""
            continue
        allowed = output.tolerance(wanted, inputs)
        found = compare(output.name, actual, wanted, allowed, _tiling(output, call.blocks), inputs)
        wrong = found.mismatch.wrong if found.mismatch else 0
        if allowed.pooled:
            words = messages.wrong_on_the_whole(output.name, found.error)
        elif output.shape == ():
            words = messages.wrong_value(output.name)
        else:
            words = messages.wrong_values(output.name, wrong, actual.size)
        yield output.name, found, words


def _checked(call: _Call, output: Checked, actual: object) -> Comparison:
    """What the drill's own check says of a value, kept for the learner."""
    found = output.check(as_given(actual))
    call.report = Report(
        words=messages.plain(found.words, 600),
        marks=tuple(
            Mark(group=mark.group, name=mark.name, ok=mark.ok, words=messages.plain(mark.words, 400))
            for mark in found.marks
        ),
        figures=found.figures,
        by_person=found.by_person,
    )
    call.question = "" if found.accepted else found.question
    features = tuple(Feature(key, "") for key in found.features)
    return Comparison(0.0) if found.accepted is True else Comparison(None, features=features)


def _outputs(drill: Drill, ask: Ask, reply: Returned) -> tuple[list[Any], Feature | None]:
    """Each promised output, arrays as float64, or the first complaint about what came instead."""
    results = [output for output in ask.outputs if output.argument is None]
    values = reply.value if len(results) > 1 else [reply.value]
    if len(results) > 1 and not (isinstance(values, list) and len(values) == len(results)):
        got = len(values) if isinstance(values, list) else 1
        return [], Feature("count", messages.wrong_count(ask.entry, got, len(results)))
    returned = iter(values if results else [])
    taken: list[Any] = []
    for output in ask.outputs:
        value: Any = next(returned) if output.argument is None else reply.args.get(output.argument)
        if isinstance(output, Exact | Checked):
            taken.append(value)
        elif output.shape == () and (number := _number(value)) is not None:
            taken.append(number)
        else:
            if complaint := _not_the_array(drill, ask, output, value):
                return [], complaint
            taken.append(decode(to_numpy(value), value.dtype))
    return taken, None


def _number(value: object) -> Values | None:
    """A number where one is promised: plain, or an array of one element of a floating type. A bool is none."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return np.array(float(value))
    if isinstance(value, Array) and DTYPES[value.dtype].is_float and math.prod(value.shape) == 1:
        return decode(to_numpy(value), value.dtype).reshape(())
    return None


def _not_the_array(drill: Drill, ask: Ask, output: Output, value: object) -> Feature | None:
    """The complaint about a value that is not an array as promised."""
    if not isinstance(value, Array):
        promised = "number" if output.shape == () else "array" if drill.framework == "numpy" else "tensor"
        return Feature("not_tensor", messages.not_an_array(ask.entry, _type_name(value), promised))
    if value.dtype != output.dtype and not (output.wider and value.dtype == "fp64"):
        return Feature("dtype", messages.wrong_dtype(output.name, value.dtype, output.dtype))
    if value.shape != output.shape:
        return Feature("shape", messages.wrong_shape(output.name, value.shape, output.shape))
    return None


def _type_name(value: object) -> str:
    if isinstance(value, Other):
        return f"a value of type {messages.plain(value.type_name, 80)}"
    names = {type(None): "None", list: "a list or tuple", dict: "a dict", str: "a string"}
    return names.get(type(value), f"a value of type {type(value).__name__}")


def _tiling(output: Output, blocks: tuple[int, ...]) -> Tiling | None:
    if output.tiled_axis is None:
        return None
    block = block_for(blocks, output.shape[output.tiled_axis])
    return None if block is None else Tiling(output.tiled_axis, block)


def _changed(drill: Drill, ask: Ask, digests: Sequence[str], back: Mapping[int, Array]) -> Feature | None:
    """The complaint about the first array argument whose storage, guard bands included, is not as it was sent.

    `back` are the arguments that the call may write to, as they are now.
    """
    if not (drill.rules.inputs_unchanged or ask.raises):
        return None
    written = set() if ask.raises else {output.argument for output in ask.outputs} | set(ask.reuse)
    arrays = [(i, argument) for i, argument in enumerate(ask.args) if isinstance(argument, Placed)]
    if len(digests) != len(arrays):
        raise Malformed(f"{len(digests)} digests for {len(arrays)} array arguments")
    for (position, argument), digest in zip(arrays, digests, strict=True):
        if position in written:
            intact = _guards_intact(argument, back.get(position))
        else:
            intact = digest == hashlib.sha256(argument.storage.tobytes()).hexdigest()
        if not intact:
            if ask.raises:
                return Feature("inputs_changed", messages.changed_before_raising(position, ask.raises))
            return Feature("inputs_changed", messages.inputs_changed(position, drill.framework))
    return None


def _too_much_memory(ask: Ask, reply: Returned) -> Feature | None:
    """The complaint about a call during which memory grew too far. A figure that is missing counts as too much."""
    if ask.peak_bytes is None:
        return None
    if not 0 <= reply.peak_bytes <= ask.peak_bytes:
        return Feature("memory", messages.too_much_memory(reply.peak_bytes, ask.peak_bytes))
    return None


def _guards_intact(sent: Placed, back: Array | None) -> bool:
    """An argument written in place may change inside its view only."""
    if back is None or len(back.storage) != sent.storage.nbytes:
        return False
    outside = np.ones(sent.storage.shape, dtype=bool)
    grid = np.indices(sent.shape).reshape(len(sent.shape), -1)
    outside[sent.offset + np.asarray(sent.strides) @ grid] = False
    width = sent.storage.itemsize
    before = np.frombuffer(sent.storage.tobytes(), np.uint8).reshape(-1, width)[outside]
    after = np.frombuffer(back.storage, np.uint8).reshape(-1, width)[outside]
    return bool(np.array_equal(before, after))


def _problem(text: str) -> _Call:
    return _Call(outcome=Outcome.GRADER_PROBLEM, detail=messages.GRADER_PROBLEM, problem=text, runner_lost=True)


def _judged(bench: Bench, case: Case, calls: Sequence[_Call], seconds: float) -> Judged:
    """The calls of a case, put together; the last one decides."""
    last = calls[-1]
    suite = bench.answers.suite
    run = sum(call.run for call in calls)
    comparison = last.comparison
    accepted = last.outcome is Outcome.ACCEPTED
    result = CaseResult(
        name=case.name,
        visible=case.visible,
        outcome=last.outcome,
        shape=suite.shape_words(case),
        data=suite.data_words(case),
        dtype="" if case.about else case.dtype,
        error=max(call.error for call in calls) if accepted else (comparison.error if comparison else None),
        mismatch=comparison.mismatch if comparison else None,
        map=comparison.map if comparison else None,
        detail=last.detail,
        line=last.line,
        seconds=run,
        calls=max((call.served for call in calls if call.served), key=lambda served: served.used, default=None),
        report=last.report,
    )
    return Judged(
        case=case,
        result=result,
        features=last.features,
        blocks=tuple(sorted({block for call in calls for block in call.blocks})),
        traffic=tuple(moved for call in calls for moved in call.traffic),
        findings=tuple(found for call in calls for found in call.findings),
        run=run,
        compile=sum(call.compile for call in calls),
        judge=max(0.0, seconds - run),
        runner_lost=last.runner_lost,
        problem=last.problem,
        calls=tuple(call.call for call in calls if call.call is not None),
        question=last.question,
        in_kernel=last.in_kernel,
    )
