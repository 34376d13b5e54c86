"""What a learner may see of the results. Hidden cases are reduced to how they ended, here and nowhere else."""

from __future__ import annotations

from collections.abc import Sequence

from grader import messages
from grader.abilities import computes
from grader.judge import Judged
from grader.kit import Case
from grader.verdict import CaseResult, Lane, Skipped, Traffic


def shown(judged: Sequence[Judged], loading: CaseResult | None = None) -> tuple[CaseResult, ...]:
    """The results in the order they ran, hidden ones reduced; `loading` comes first when the file did not load."""
    results = [] if loading is None else [loading]
    count = 0
    for one in judged:
        count += not one.result.visible
        results.append(one.result if one.result.visible else hidden(one.result, count))
    return tuple(results)


def hidden(result: CaseResult, number: int) -> CaseResult:
    """What may be said of a hidden case: that it exists, and how it ended. No shape, data, numbers, text or
    time.
    """
    return CaseResult(name=messages.hidden_name(number), visible=False, outcome=result.outcome)


def skipped(lane: Lane, cases: Sequence[Case]) -> tuple[Skipped, ...]:
    """The cases that `lane` can't run; hidden ones are only counted."""
    found = []
    for case in cases:
        if not computes(lane, case.dtype):
            name = case.name if case.visible else messages.HIDDEN
            found.append(Skipped(name=name, visible=case.visible, reason=messages.skipped_here(case.dtype)))
    return tuple(found)


def visible_traffic(judged: Sequence[Judged]) -> tuple[Traffic, ...]:
    """Bytes moved by tensor, over the visible cases that passed."""
    sums: dict[str, Traffic] = {}
    for moved in (moved for one in judged if one.accepted and one.case.visible for moved in one.traffic):
        so_far = sums.get(
            moved.tensor, Traffic(tensor=moved.tensor, loaded=0, stored=0, least_loaded=0, least_stored=0)
        )
        sums[moved.tensor] = Traffic(
            tensor=moved.tensor,
            loaded=so_far.loaded + moved.loaded,
            stored=so_far.stored + moved.stored,
            least_loaded=so_far.least_loaded + moved.least_loaded,
            least_stored=so_far.least_stored + moved.least_stored,
        )
    return tuple(sums.values())
