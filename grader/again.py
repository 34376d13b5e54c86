"""The last question before a Triton kernel is accepted: do the kernels do it alone?

What a runner says of itself can be forged by the code in it: who wrote a byte, what was counted, the whole answer.
So launches are run again in a process without the learner's host code (`grader.replay`), on other data of the same
shape. Whatever else the process of the learner said then matters no more, and neither do results smuggled in as
numbers or tensors: they belong to the data of before.

Reading order: `judge_kernels_alone` → `_calls` → `_other_data` → `_judge_call`.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from grader import messages
from grader.judge import Bench, Judged, Replayer, judge_again, sent
from grader.kit import DTYPES, Argument, Ask, Case, Placed, generator
from grader.verdict import CaseResult, Outcome
from grader.wire import Replay, Returned

SECONDS: Final = 6.0  # for all of them, besides LONGER times what the learner's calls took
LONGER: Final = 4.0  # the same kernels take as long again; slow ones are no way out
OTHER: Final = b"other data"


def judge_kernels_alone(bench: Bench, source: str, judged: Sequence[Judged], runner: Replayer) -> Judged | None:
    """What is wrong with the kernels alone; None when nothing is, in every call."""
    began = time.perf_counter()
    enough = SECONDS + LONGER * sum(one.run for one in judged)
    for call in _calls(bench, judged):
        left = enough - (time.perf_counter() - began)
        outcome, words, problem = (
            _judge_call(bench, source, call, runner, left)
            if left > 0
            else (Outcome.TIME_LIMIT, messages.too_slow_alone(), "")
        )
        if outcome is not Outcome.ACCEPTED:
            return _refuted(call.case, outcome, words, problem, time.perf_counter() - began)
    return None


def _judge_call(
    bench: Bench, source: str, call: _Again, runner: Replayer, seconds: float
) -> tuple[Outcome, str, str]:
    """Outcome, words, the trouble for operators. Wrong on the first data too: then host code had a hand in it."""
    outcome, words, problem = judge_again(bench, call.other, call.order(call.other, source), runner, seconds)
    if outcome is not Outcome.WRONG_ANSWER:
        return outcome, words, problem
    first, *_ = judge_again(bench, call.ask, call.order(call.ask, source), runner, seconds)
    if first is Outcome.ACCEPTED:
        return outcome, messages.wrong_on_other_data(words), problem
    return Outcome.RULE_BROKEN, messages.wrong_without_host(words), problem


def _refuted(case: Case, outcome: Outcome, words: str, problem: str, seconds: float) -> Judged:
    """A result of its own, which says nothing of the hidden case behind it but its kind."""
    result = CaseResult(name=messages.AGAIN, visible=True, outcome=outcome, detail=words, seconds=seconds)
    kept = replace(case, name=messages.AGAIN, family="provenance", visible=True)
    return Judged(case=kept, result=result, judge=seconds, problem=problem)


@dataclass(frozen=True)
class _Again:
    """A call of the learner's, and what is to be asked in its place."""

    number: int
    case: Case
    ask: Ask
    other: Ask
    said: Returned

    def order(self, ask: Ask, source: str) -> Replay:
        """The launches that the learner's code made, with the arguments of `ask`."""
        said = self.said
        written = {output.argument for output in ask.outputs if output.argument is not None}
        return Replay(
            id=self.number,
            source=source,
            args=[sent(argument) if isinstance(argument, Placed) else argument for argument in ask.args],
            return_args=sorted(written | set(ask.reuse)),
            launches=said.launches if said.launch_count == len(said.launches) else [],
            memories=said.memories,
            globals=said.globals,
            results=said.results,
        )


def _calls(bench: Bench, judged: Sequence[Judged]) -> Iterator[_Again]:
    """Every call of every case, in an order drawn from the secret seed."""
    calls = [(one.case, number, *call) for one in judged for number, call in enumerate(one.calls)]
    random.Random(bench.seed).shuffle(calls)  # noqa: S311 - the seed is secret
    # Launches that nobody wrote down are not run again, so that a result that needs them is not there.
    for number, (case, place, ask, said) in enumerate(calls):
        if not ask.raises:
            yield _Again(number, case, ask, _other_data(bench, case, place, ask), said)


def _other_data(bench: Bench, case: Case, place: int, ask: Ask) -> Ask:
    """`ask` with other floating-point data of the same kind and layout. Integers stay: launches may follow them."""
    if place:
        return ask  # what later calls are sent may follow from the answers to earlier ones
    play = bench.answers.suite.play(case, generator(bench.seed + OTHER, bench.drill.id, case.name))
    other = next(play)
    play.close()
    if len(other.args) != len(ask.args):
        return ask
    return replace(ask, args=tuple(_mixed(*pair) for pair in zip(ask.args, other.args, strict=True)))


def _mixed(before: Argument, other: Argument) -> Argument:
    alike = (
        isinstance(before, Placed)
        and isinstance(other, Placed)
        and DTYPES[before.dtype].is_float
        and (before.dtype, before.shape, before.strides, before.offset)
        == (other.dtype, other.shape, other.strides, other.offset)
    )
    return other if alike else before
