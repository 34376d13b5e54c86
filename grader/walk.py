"""A failing kernel beside what it should hold: one row, tile by tile, and the first tile at which they part.

The learner's side is what `grader.walker` saw of a program, on a public probe. The other side is the same row in
float64, after the keys that the program had loaded by then; sum and accumulator are told relative to the maximum
that the learner's kernel holds, so that what is marked is wrong by itself. A drill offers this with a file
`steps.py`; nothing here decides an outcome.

Reading order: `walk_through` → `_order` (what to watch) → `_compared` → `Reading`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray

from grader import messages, wire
from grader.judge import Bench, Judged, sent
from grader.kit import Placed, RunningRow, Values
from grader.pool import Failure
from grader.suite import Steps
from grader.verdict import Held, Outcome, TileStep, Walk

SECONDS: Final = 5.0
MOST_TURNS: Final = 64
MOST_SHOWN: Final = 6  # values of an accumulator
WRONG: Final = {"fp32": 1e-4, "fp16": 2e-2, "bf16": 5e-2}  # of the largest value
LOG2E: Final = 1.4426950408889634
UNITS: Final = {"": 1.0, "in base two": LOG2E}

# Names by which kernels call what they carry; what is carried by another name is shown without a counterpart.
MAXIMUM: Final = re.compile(r"^m(_|\d|x|$)|max|peak|top", re.IGNORECASE)
SUM: Final = re.compile(r"^[lz](_|\d|$)|sum|total|denom|norm", re.IGNORECASE)
FACTOR: Final = re.compile(r"alpha|factor|resc|corr|ratio|decay", re.IGNORECASE)


class Watched(Protocol):
    """The part of a runner that is needed here."""

    def walk(self, order: wire.Walk, seconds: float) -> wire.Walked | Failure: ...


def walk_through(bench: Bench, judged: Judged, source: str, steps: Steps, runner: Watched) -> Walk | None:
    """The failing run `judged`, on public data, beside what it should hold; None where that can't be shown."""
    mismatch = judged.result.mismatch
    if judged.result.outcome is not Outcome.WRONG_ANSWER or mismatch is None or not judged.calls:
        return None
    ask, said = judged.calls[-1]
    index = mismatch.first.index
    row = steps(ask, index)
    order = _order(source, row, [*ask.args], said, index)
    answer = None if order is None else runner.walk(order, SECONDS)
    if answer is None or isinstance(answer, Failure) or not answer.turns:
        return None
    answer = msgspec.structs.replace(answer, turns=answer.turns[:MOST_TURNS])
    suite = bench.answers.suite
    turns, unit, missed = _compared(answer, row, WRONG.get(judged.case.dtype, WRONG["bf16"]))
    return Walk(
        shape=suite.shape_words(judged.case),
        data=suite.data_words(judged.case),
        kernel=messages.plain(answer.kernel, 80),
        line=answer.line if 1 <= answer.line <= source.count("\n") + 1 else None,
        program=answer.program,
        index=index,
        unit=unit,
        turns=turns,
        missed=missed,
        parts_at=next((number for number, turn in enumerate(turns) if any(h.parts for h in turn.held)), None),
    )


def _order(
    source: str, row: RunningRow, args: list[object], said: wire.Returned, index: tuple[int, ...]
) -> wire.Walk | None:
    """What to watch; None where the runner did not write down enough."""
    if len(said.results) != 1 or said.launch_count != len(said.launches) or not said.launches:
        return None
    (where,) = said.results
    if len(where.strides) != len(index):
        return None
    return wire.Walk(
        id=1,
        source=source,
        args=[sent(argument) if isinstance(argument, Placed) else argument for argument in args],
        launches=said.launches,
        memories=said.memories,
        globals=said.globals,
        stored=where.memory,
        element=where.offset + sum(i * step for i, step in zip(index, where.strides, strict=True)),
        reading=f"arg{row.argument}",
    )


@dataclass(frozen=True)
class Reading:
    """Which of a kernel's variables is which. Empty where there is none."""

    maximum: str
    sum: str
    factor: str
    accumulator: str

    @classmethod
    def of(cls, walked: wire.Walked, depth: int) -> Reading:
        """By name and length."""
        first = walked.turns[0].state
        single = [name for name in walked.carried if len(first.get(name, ())) == 1]
        wide = [name for name in walked.carried if depth > 1 and len(first.get(name, ())) == depth]
        brief = [name for name, value in first.items() if len(value) == 1 and name not in walked.carried]
        return cls(
            maximum=next((name for name in single if MAXIMUM.search(name)), ""),
            sum=next((name for name in single if SUM.search(name) and not MAXIMUM.search(name)), ""),
            factor=next((name for name in brief if FACTOR.search(name)), ""),
            accumulator=wide[0] if len(wide) == 1 else "",
        )


def _compared(walked: wire.Walked, row: RunningRow, wrong: float) -> tuple[tuple[TileStep, ...], str, str]:
    """The tiles, the unit of the maximum, and the keys that should be seen and are never loaded."""
    depth = min(row.values.shape[1], 128) if row.values is not None else 0
    names = Reading.of(walked, depth)
    met = np.zeros(len(row.scores), dtype=bool)
    seen: list[tuple[NDArray[np.bool_], NDArray[np.bool_]]] = []
    for turn in walked.turns:
        now = _loaded(row.elements, turn.loaded)
        met = met | now
        seen.append((now, met))
    unit, factor = _unit(walked, names, row, [after for _, after in seen])
    turns = []
    before = -np.inf
    for turn, (now, after) in zip(walked.turns, seen, strict=True):
        top = float(np.max(row.scores[after], initial=-np.inf))
        held = _held(turn, names, row, after, (before, top), factor, wrong)
        turns.append(TileStep(keys=_span(now), held=held))
        before = top
    missed = np.isfinite(row.scores) & ~met & (not walked.cut)
    return tuple(turns), unit, _span(missed) if missed.any() else ""


def _held(
    turn: wire.Turn,
    names: Reading,
    row: RunningRow,
    met: NDArray[np.bool_],
    tops: tuple[float, float],
    unit: float,
    wrong: float,
) -> tuple[Held, ...]:
    """What the row holds after one turn, each beside what it should be."""
    before, top = tops
    mine = turn.state.get(names.maximum, [float("nan")])[0] / unit
    base = mine if np.isfinite(mine) else top if np.isfinite(top) else 0.0
    with np.errstate(all="ignore"):
        weights = np.exp(row.scores[met] - base)
        kept = np.exp(before - top) if np.isfinite(top) else 1.0
    found = []
    for role, name, should in (
        ("maximum", names.maximum, [top * unit]),
        ("factor", names.factor, [float(kept)]),
        ("sum", names.sum, [float(weights.sum())]),
        ("accumulator", names.accumulator, _weighted(weights, row.values, met)),
    ):
        yours = turn.state.get(name, [])
        if role == "factor" or (name and len(yours) <= len(should)):
            # Many kernels have no name for the factor, or hold its inverse: it is shown, never marked.
            parts = role != "factor" and _differ(yours, should[: len(yours)], wrong)
            found.append(_shown(role, name, yours, should, parts))
    return tuple(found)


def _weighted(weights: Values, values: Values | None, met: NDArray[np.bool_]) -> list[float]:
    return [] if values is None else [float(x) for x in weights @ values[met]]


def _shown(role: str, name: str, yours: Sequence[float], should: Sequence[float], parts: bool) -> Held:
    return Held(
        role=role,
        name=messages.plain(name, 40),
        yours=tuple(_figure(x) for x in yours[:MOST_SHOWN]),
        should=tuple(_figure(x) for x in should[:MOST_SHOWN]),
        parts=parts,
    )


def _differ(yours: Sequence[float], should: Sequence[float], wrong: float) -> bool:
    mine, right = np.asarray(yours), np.asarray(should)
    same = mine == right
    with np.errstate(all="ignore"):
        close = np.abs(mine - right) <= wrong * np.max(np.abs(right[np.isfinite(right)]), initial=1e-6)
    return not bool((same | close).all())


def _unit(
    walked: wire.Walked, names: Reading, row: RunningRow, met: Sequence[NDArray[np.bool_]]
) -> tuple[str, float]:
    """In which unit the maximum is held: the one in which most turns have it right."""
    choices = UNITS | {"before scaling": 1.0 / row.scale} if row.scale != 1.0 else UNITS
    hits = {}
    for words, factor in choices.items():
        tops = [float(np.max(row.scores[after], initial=-np.inf)) * factor for after in met]
        held = [turn.state.get(names.maximum, [float("nan")]) for turn in walked.turns]
        hits[words] = sum(not _differ(have, [top], 1e-2) for have, top in zip(held, tops, strict=True))
    best = max(hits, key=lambda words: hits[words])
    return best, choices[best]


def _loaded(elements: NDArray[np.int64], ranges: Sequence[tuple[int, int]]) -> NDArray[np.bool_]:
    """Which keys begin inside one of the ranges."""
    inside = np.zeros(len(elements), dtype=bool)
    for start, stop in ranges:
        inside |= (elements >= start) & (elements < stop)
    return inside


def _span(keys: NDArray[np.bool_]) -> str:
    """In words: "16–31"."""
    found = np.flatnonzero(keys)
    if not len(found):
        return "none"
    first, last = int(found[0]), int(found[-1])
    return f"{first}" if first == last else f"{first}–{last}"


def _figure(x: float) -> str:
    if np.isnan(x):
        return "NaN"
    if np.isinf(x):
        return "∞" if x > 0 else "−∞"
    return f"{x:.5g}".replace("-", "−")
