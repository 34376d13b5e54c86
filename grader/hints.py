"""The question that a failure deserves: its signature matched with the known faults of the drill.

`make drills` runs every mutant and stores how it failed in ``kill_matrix.json``. A submission that fails the
same way gets the question written into that mutant, never the fix. When nothing known looks alike, a general
question about the trend is asked instead.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache
from pathlib import Path

import msgspec

from grader import messages

FILE = "kill_matrix.json"
ALIKE = 0.6  # a signature this close to a mutant's gets its question


class Signature(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How something failed: its outcome, what ended it (values, a type, a rule, …), the cases and families that
    failed, residual features, the trend, and the public probes that failed at the block that was launched.
    """

    outcome: str
    kind: str = ""
    cases: tuple[str, ...] = ()
    families: tuple[str, ...] = ()
    features: tuple[str, ...] = ()
    trend: str = ""
    probes: tuple[str, ...] = ()


class KnownFault(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A mutant: what is wrong with it, the question it teaches, and its signature."""

    name: str
    what: str
    ask: str
    expect: str
    signature: Signature


class KillMatrix(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The stored result of the publication gate for one drill.

    `cases` are those that the lane ran, in order; `control` are those among them that kill nothing uniquely.
    `inputs` is a digest of every file that the result depends on.
    """

    drill: str
    inputs: str
    cases: tuple[str, ...]
    control: tuple[str, ...]
    faults: tuple[KnownFault, ...]
    margins: dict[str, float]  # correct kernel → largest error in units of tolerance


def load_matrix(folder: Path) -> KillMatrix | None:
    """The stored matrix of the drill in `folder`; ``None`` when there is none or it can't be read."""
    path = folder / FILE
    try:
        return _load(path, path.stat().st_mtime_ns)
    except (OSError, msgspec.MsgspecError):
        return None


@lru_cache(maxsize=64)
def _load(path: Path, stamp: int) -> KillMatrix:
    return msgspec.json.decode(path.read_bytes(), type=KillMatrix)


def question(matrix: KillMatrix | None, seen: Signature) -> str:
    """The question to ask about a failure that looks like `seen`."""
    if matrix is not None:
        best = max(matrix.faults, key=lambda fault: likeness(seen, fault.signature), default=None)
        if best is not None and best.ask and likeness(seen, best.signature) >= ALIKE:
            return best.ask
    return messages.question_for(seen.outcome, seen.kind, seen.trend)


def likeness(seen: Signature, known: Signature) -> float:
    """0 (nothing in common) to 1 (the same). Another outcome, kind or trend is never alike.

    The learner's tile length differs from the mutant's, so which case fails says less than which family does, and
    which probe does says more: probes are cut to the launched block. The trend is measured in tiles and must agree
    where both have one; whether the error also grows depends on the data and is left out.
    """
    if (seen.outcome, seen.kind) != (known.outcome, known.kind):
        return 0.0
    if seen.trend and known.trend and seen.trend.removesuffix("_grows") != known.trend.removesuffix("_grows"):
        return 0.0
    parts = [(seen.cases, known.cases), (seen.families, known.families), (seen.features, known.features)]
    if seen.probes and known.probes:
        parts += [(seen.probes, known.probes)] * 3
    return sum(_overlap(a, b) for a, b in parts) / len(parts)


def _overlap(a: Collection[str], b: Collection[str]) -> float:
    union = set(a) | set(b)
    return len(set(a) & set(b)) / len(union) if union else 1.0
