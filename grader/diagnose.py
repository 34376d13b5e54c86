"""What a failed submission looks like from outside: probes first, then the question that fits.

Probes run on a runner that has seen no hidden input and with a seed that is no secret, so everything they show may
be shown. Reading order: `worth_probing` → `probe` → `explain_failure`.
"""

from __future__ import annotations

import ast
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from grader import hints
from grader.compare import Feature
from grader.drill import Drill
from grader.judge import Bench, Caller, Judged, judge_case
from grader.kit import Case, Suite, tile_block
from grader.shrink import SHRINK_RUNS, Prober, Try, as_probe, by_tiles, cut, failing, smallest, trend
from grader.verdict import Diagnosis, Outcome, Probe

PROBE_SEED = b"public probes"
SECONDS = 4.0
CURVE_RUNS = 12


@dataclass(frozen=True)
class Probed:
    """What the probes found; all empty when they found nothing."""

    smallest: Probe | None = None
    passing: Probe | None = None
    curve: tuple[Probe, ...] = ()
    trend: Feature | None = None
    features: tuple[Feature, ...] = ()
    failed: tuple[str, ...] = ()  # names of the suite's probes
    shown: Judged | None = None  # the failing probe to be looked at tile by tile


def worth_probing(judged: Sequence[Judged]) -> bool:
    """Did it fail in a way that depends on the shape? A runner that was lost would be lost again at each probe."""
    first = next((one for one in judged if not one.accepted), None)
    return (
        first is not None
        and not any(one.runner_lost for one in judged)
        and first.result.outcome in (Outcome.WRONG_ANSWER, Outcome.RUNTIME_ERROR)
    )


def probe(bench: Bench, judged: Sequence[Judged], runner: Caller) -> Probed:
    """Find the smallest shape that fails and the error by tiles. `runner` has seen no hidden input."""
    suite = bench.answers.suite
    if not suite.axes:
        return Probed()  # without shapes there is none to make smaller
    public = replace(bench, seed=PROBE_SEED)
    deadline = time.perf_counter() + SECONDS
    longest = bench.drill.limits.call_seconds

    def run(case: Case) -> Judged:
        return judge_case(public, case, runner, min(longest, max(0.1, deadline - time.perf_counter())))

    prober = Prober(run, len(suite.probes), deadline)
    launched = _block(suite, [one for one in judged if one.case.visible])  # what hidden ones do stays hidden
    probes = [cut(suite, case, launched or case.block) for case in suite.probes]
    failed = failing(probes, prober)
    visible = [one.case for one in judged if one.case.visible and not one.accepted]
    base = next(iter((*failed, *visible)), None)
    if base is None:
        return Probed()
    prober.allow(SHRINK_RUNS)
    found = smallest(suite, base, prober, launched or base.block)
    if found is None:
        return Probed()
    # A call that raises reports no launch, so where all cases did, a probe that passed may know the block.
    block = launched or _block(suite, [tried.judged for tried in prober.tried]) or base.block
    prober.allow(CURVE_RUNS)
    curve = by_tiles(suite, found.failing.case, prober, block)
    return Probed(
        smallest=as_probe(suite, found.failing, block),
        passing=as_probe(suite, found.passing, block) if found.passing else None,
        curve=tuple(as_probe(suite, tried, block) for _, tried in curve),
        trend=trend([point for point, _ in curve]),
        features=found.failing.judged.features,
        failed=tuple(case.name for case in failed),
        shown=_worth_showing([found.failing, *(tried for _, tried in curve)], block, suite),
    )


def _worth_showing(tried: Sequence[Try], block: int, suite: Suite) -> Judged | None:
    """The failing probe of the most tiles up to four: fewer show no course, more are long to read."""
    wrong = [one.judged for one in tried if one.judged.result.outcome is Outcome.WRONG_ANSWER]
    if suite.tiled is None or not wrong:
        return wrong[0] if wrong else None
    axis = suite.tiled.name
    tiles = [-(-one.case.dims[axis] // block) for one in wrong]
    return max(
        zip(tiles, wrong, strict=True), key=lambda pair: (pair[0] <= 4, pair[0] if pair[0] <= 4 else -pair[0])
    )[1]


def explain_failure(
    drill: Drill, judged: Sequence[Judged], probed: Probed, source: str = ""
) -> tuple[Diagnosis, hints.Signature]:
    """The diagnosis for the learner, and the signature, which stays on our side. One of `judged` failed."""
    failed = [one for one in judged if not one.accepted]
    features = probed.features or failed[0].features
    signature = hints.Signature(
        outcome=failed[0].result.outcome,
        kind=failed[0].features[0].key if failed[0].features else "",
        cases=tuple(one.case.name for one in failed),
        families=tuple(sorted({one.case.family for one in failed})),
        features=tuple(feature.key for feature in features[1:]),
        trend=probed.trend.key if probed.trend else "",
        probes=probed.failed,
    )
    diagnosis = Diagnosis(
        smallest_failing=probed.smallest,
        nearest_passing=probed.passing,
        error_by_tiles=probed.curve,
        trend=probed.trend.words if probed.trend else "",
        question=failed[0].question or _question(drill, failed[0], signature, source),
        related=(*drill.cards, *drill.questions),
    )
    return diagnosis, signature


def _question(drill: Drill, first: Judged, signature: hints.Signature, source: str) -> str:
    """What to ask. The known faults of a kernel fail in the kernel: they say nothing of code around it that raises,
    and whoever raises on purpose knows why.
    """
    if first.result.outcome is Outcome.RUNTIME_ERROR and first.result.line is not None:
        if on_purpose(source, first.result.line):
            return ""
        if drill.framework == "triton" and not first.in_kernel:
            return hints.question(None, signature)
    return hints.question(hints.load_matrix(drill.folder), signature)


def on_purpose(source: str, line: int) -> bool:
    """Does a statement stand there that is meant to end the run: raise, assert, or an assert of the language?"""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise | ast.Assert | ast.Expr) and node.lineno <= line <= (node.end_lineno or 0):
            called = node.value.func if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) else None
            if not isinstance(node, ast.Expr) or getattr(called, "attr", "") in ("device_assert", "static_assert"):
                return True
    return False


def _block(suite: Suite, judged: Sequence[Judged]) -> int | None:
    """The tile length that was launched, over all of these cases."""
    if suite.tiled is None or not judged:
        return None
    blocks = tuple({block for one in judged for block in one.blocks})
    return tile_block(blocks, max(one.case.dims[suite.tiled.name] for one in judged))
