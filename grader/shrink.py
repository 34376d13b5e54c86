"""Where a failure begins: the smallest shape that fails, its nearest neighbour that passes, the error tile by tile.

Everything here is found out by probes: extra runs on public data, with a seed that is no secret. No hidden case and
no hidden input is used, so what is said here can be shown. Reading order: `Prober` → `smallest` → `by_tiles` →
`trend`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from grader.compare import Feature
from grader.judge import Judged
from grader.kit import Axis, Case, Suite
from grader.rules import block_for
from grader.verdict import Outcome, Probe

SHRINK_RUNS = 20
TILES = 8  # whole tiles that the error curve goes up to
PARTIAL = (0, 1, 3)  # whole tiles before a partial one


class Spent(Exception):
    """The budget of runs or seconds is used up, or there is no runner left: say what is known and stop."""


@dataclass(frozen=True)
class Try:
    """One probe and how it went."""

    case: Case
    judged: Judged

    @property
    def ok(self) -> bool:
        return self.judged.accepted


class Prober:
    """Runs probes within a budget, and remembers them: the same shape is never run twice."""

    def __init__(self, run: Callable[[Case], Judged], runs: int, deadline: float) -> None:
        """`run` plays one case; `deadline` is on the clock of `time.perf_counter`."""
        self._run = run
        self._left = runs
        self._deadline = deadline
        self._seen: dict[str, Try] = {}
        self._lost = False

    def allow(self, runs: int) -> None:
        """Start a new count of runs; the deadline stays, and a lost runner stays lost."""
        self._left = runs

    @property
    def tried(self) -> list[Try]:
        """The probes so far, in order."""
        return list(self._seen.values())

    def at(self, case: Case) -> Try:
        """How `case` goes. Raises `Spent`."""
        probe = replace(case, name=_probe_name(case), visible=True)
        if probe.name in self._seen:
            return self._seen[probe.name]
        if self._lost or self._left < 1 or time.perf_counter() > self._deadline:
            raise Spent
        self._left -= 1
        judged = self._run(probe)
        if judged.result.outcome is Outcome.GRADER_PROBLEM:
            raise Spent
        tried = self._seen[probe.name] = Try(probe, judged)
        self._lost = judged.runner_lost
        return tried


def _probe_name(case: Case) -> str:
    dims = ",".join(f"{axis}={length}" for axis, length in sorted(case.dims.items()))
    settings = "".join(f" {name}={value}" for name, value in sorted(case.settings.items()))
    return f"probe {case.about or case.data} {case.dtype} {case.layout} {dims}{settings}"


@dataclass(frozen=True)
class Smallest:
    """The smallest failing probe found, and the closest one that passes."""

    failing: Try
    passing: Try | None


def failing(cases: Sequence[Case], prober: Prober) -> list[Case]:
    """Those of `cases` that fail as probes, as far as the budget reaches."""
    found = []
    for case in cases:
        try:
            if not prober.at(case).ok:
                found.append(case)
        except Spent:
            break
    return found


def cut(suite: Suite, case: Case, block: int) -> Case:
    """`case` with as many whole tiles, and as long a rest, of `block` as it has of the block it was written for."""
    axis = suite.tiled
    if axis is None:
        return case
    whole, rest = divmod(case.dims[axis.name], case.block)
    return replace(case.resized(axis.name, whole * block + min(rest, block - 1)), block=block)


def smallest(suite: Suite, case: Case, prober: Prober, block: int) -> Smallest | None:
    """Shrink `case`, axis by axis, while it still fails; the tiled axis last. ``None`` if it passes on public
    data.
    """
    try:
        if prober.at(case).ok:
            return None
    except Spent:
        return None
    failing, passing = case, None
    for axis in sorted(suite.axes, key=lambda axis: axis.tiled):
        failing, neighbour = _least(axis, failing, prober, block)
        passing = neighbour or passing
    return Smallest(prober.at(failing), passing)


def _least(axis: Axis, case: Case, prober: Prober, block: int) -> tuple[Case, Try | None]:
    """`case` with `axis` as short as still fails, and a neighbour along that axis that passes."""
    length = case.dims[axis.name]
    failing, passing = length, None
    try:
        for shorter in _ladder(axis, length, block):
            if not prober.at(case.resized(axis.name, shorter)).ok:
                failing = shorter
                break
            passing = shorter
        while passing is not None and failing - passing > 1 and not axis.only:
            middle = (failing + passing) // 2
            if prober.at(case.resized(axis.name, middle)).ok:
                passing = middle
            else:
                failing = middle
        for longer in (failing + 1, block, 2 * block) if passing is None and axis.tiled else ():
            if longer > failing and prober.at(case.resized(axis.name, longer)).ok:
                passing = longer
                break
    except Spent:
        pass
    neighbour = None if passing is None else prober.at(case.resized(axis.name, passing))
    return case.resized(axis.name, failing), neighbour


def _ladder(axis: Axis, length: int, block: int) -> list[int]:
    """Lengths to try on the way up from the least, those where tiles end among them; all shorter than `length`."""
    if axis.only:
        return [step for step in axis.only if step < length]
    steps = {axis.least, axis.least + 1}
    if axis.tiled:
        steps |= {block - 1, block, block + 1, 2 * block, 2 * block + 1}
    return sorted(step for step in steps if axis.least <= step < length)


@dataclass(frozen=True)
class Point:
    """One point of the error curve. `error` is in units of tolerance, ``None`` when it is not finite."""

    length: int
    block: int
    ok: bool
    error: float | None

    @property
    def tiles(self) -> int:
        return -(-self.length // self.block)

    @property
    def partial(self) -> bool:
        return self.length % self.block != 0


def by_tiles(suite: Suite, case: Case, prober: Prober, block: int) -> list[tuple[Point, Try]]:
    """The error at 1 to 8 whole tiles and at a few lengths one past a tile, shortest first; other axes at
    their least.
    """
    axis = suite.tiled
    if axis is None:
        return []
    lengths = [tiles * block for tiles in range(1, TILES + 1)] + [whole * block + 1 for whole in PARTIAL]
    found = []
    try:
        for length in lengths:
            tried = prober.at(case.resized(axis.name, length))
            cut = block_for(tried.judged.blocks, length) or block
            found.append((Point(length, cut, tried.ok, tried.judged.result.error), tried))
    except Spent:
        pass
    return sorted(found, key=lambda pair: pair[0].length)


def trend(points: Sequence[Point]) -> Feature | None:
    """What the curve says, or ``None`` when there is too little of it or no part fails."""
    bad = [point for point in points if not point.ok]
    good = [point for point in points if point.ok]
    if len(points) < 4 or not bad:
        return None
    if not good:
        if _grows(bad):
            return Feature("grows", "wrong at every length, and the error grows with the number of tiles")
        return Feature("everywhere", "wrong at every length")
    if all(point.partial for point in bad) and not any(point.partial for point in good):
        return Feature("partial", f"right at every multiple of {bad[0].block}, wrong when the last tile is partial")
    short = all(point.tiles == 1 for point in good if point.partial)
    if short and all(point.partial and point.tiles > 1 for point in bad):
        return Feature("partial_after_whole", "wrong when a partial tile follows a whole one, else right")
    if all(point.tiles > 1 for point in bad) and all(point.tiles == 1 for point in good):
        words = "right with one tile, wrong from the second one on"
        if _grows(bad):
            return Feature("second_tile_grows", f"{words}, and the error grows with the number of tiles")
        return Feature("second_tile", words)
    longest = max(point.length for point in good)
    if all(point.length > longest for point in bad):
        return Feature("beyond", f"right up to {longest}, wrong beyond")
    if all(not point.partial for point in bad):
        return Feature("whole", "wrong at whole tiles only")
    return Feature("mixed", "right at some lengths and wrong at others, without a simple rule")


def _grows(points: Sequence[Point]) -> bool:
    """Does the error of the whole-tile points rise, all in all by more than half, and in most pairs of them?"""
    errors = [point.error for point in points if not point.partial]
    known = [error for error in errors if error is not None]
    if len(known) < 4 or len(known) != len(errors):
        return False
    pairs = [late > early for early, late in combinations(known, 2)]
    return known[-1] > 1.5 * known[0] and sum(pairs) >= 0.8 * len(pairs)


def as_probe(suite: Suite, tried: Try, block: int) -> Probe:
    """A probe as a verdict shows it."""
    axis = suite.tiled
    length = tried.case.dims[axis.name] if axis else None
    cut = block_for(tried.judged.blocks, length) or block if length is not None else None
    return Probe(
        shape=", ".join(filter(None, (suite.shape_words(tried.case), suite.data_words(tried.case)))),
        ok=tried.ok,
        error=tried.judged.result.error,
        tiles=None if length is None or cut is None else -(-length // cut),
    )
