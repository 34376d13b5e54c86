"""One call with kernels switched off: a result that is right all the same did not come from them.

For lanes that can't see who writes a byte. It catches what a watch of launches and library calls can't: work done
in a way that neither sees, beside kernels launched for show.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from grader import messages
from grader.judge import Bench, Caller, Judged, judge_case
from grader.kit import Case, Suite
from grader.pool import Failure
from grader.verdict import CaseResult, Outcome
from grader.wire import Call, Returned

SECONDS = 5.0


@dataclass(frozen=True)
class Muted:
    """A runner whose kernels are compiled and not launched."""

    runner: Caller

    def call(self, call: Any, seconds: float, serve: object = None) -> Returned | Failure:
        muted = msgspec.structs.replace(call, muted=True) if isinstance(call, Call) else call
        return self.runner.call(muted, seconds)


def judge_without_kernels(bench: Bench, runner: Caller) -> Judged:
    """Accepted when the result is not there without the kernels, however the call then ends."""
    case = _plain_case(bench.answers.suite)
    judged = judge_case(bench, case, Muted(runner), min(SECONDS, bench.drill.limits.call_seconds))
    right = judged.result.outcome in (Outcome.ACCEPTED, Outcome.RULE_BROKEN)
    problem = judged.result.outcome is Outcome.GRADER_PROBLEM
    result = CaseResult(
        name=messages.MUTED,
        visible=True,
        outcome=Outcome.RULE_BROKEN if right else judged.result.outcome if problem else Outcome.ACCEPTED,
        shape=judged.result.shape,
        dtype=case.dtype,
        error=None if right or problem else 0.0,
        detail=messages.right_without_kernels() if right else judged.result.detail if problem else "",
        seconds=judged.run,
    )
    kept = replace(case, name=messages.MUTED, family="provenance", visible=True)
    return Judged(case=kept, result=result, run=judged.run, judge=judged.judge, problem=judged.problem)


def _plain_case(suite: Suite) -> Case:
    """The largest visible case with ordinary data, under a name of its own, so that its data are its own too."""
    plain = [case for case in suite.cases if case.visible and case.data == "normal"] or list(suite.cases)
    largest = max(plain, key=lambda case: math.prod(case.dims.values()))
    return replace(largest, name=f"without kernels: {largest.name}")
