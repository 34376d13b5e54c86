"""How will this fail? One line, said before the first run of a drill, and beside it what happened.

A prediction travels with the first run or submission, is written in its transaction, and is never changed.
Reading order: `MODES` → `keep` → `told`, which says whether it came true.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.submissions.handed import Handed
from app.submissions.models import Prediction, Submission
from grader.drill import Drill
from grader.verdict import Mismatch, Outcome, Verdict

MOST_WORDS = 400  # characters of the free line


@dataclass(frozen=True)
class Mode:
    """One way to fail, or to pass: its words, and whether a verdict shows it."""

    words: str
    shown_by: Callable[[Verdict], bool]
    kernels_only: bool = False


@dataclass(frozen=True)
class Predicted:
    """What somebody said before the first run. `held` is None where the verdict cannot tell: the fault was ours."""

    words: str  # of the mode
    line: str  # their own, may be empty
    held: bool | None


def _wrong(verdict: Verdict) -> bool:
    return verdict.outcome is Outcome.WRONG_ANSWER


def _says(verdict: Verdict, *clues: str) -> bool:
    """Whether the failure looks like one of `clues` from outside: in its trend, or in what the cases differ by."""
    trend = verdict.diagnosis.trend if verdict.diagnosis else ""
    told = [trend, *(feature for miss in _misses(verdict) for feature in miss.features)]
    return any(clue in text for text in told for clue in clues)


def _misses(verdict: Verdict) -> list[Mismatch]:
    return [case.mismatch for case in verdict.cases if case.visible and case.mismatch is not None]


def _ended(*outcomes: Outcome) -> Callable[[Verdict], bool]:
    return lambda verdict: verdict.outcome in outcomes


MODES: Mapping[str, Mode] = {
    "passes": Mode("It passes", _ended(Outcome.ACCEPTED)),
    "edge": Mode(
        "Wrong at the edge: a partial tile, or what pads it",
        lambda verdict: _wrong(verdict) and _says(verdict, "last tile", "partial"),
        kernels_only=True,
    ),
    "grows": Mode(
        "Wrong, and worse with every tile",
        lambda verdict: _wrong(verdict) and _says(verdict, "grows with"),
        kernels_only=True,
    ),
    "nan": Mode(
        "NaN or infinity where a number belongs",
        lambda verdict: _wrong(verdict) and any(miss.nan or miss.inf for miss in _misses(verdict)),
        kernels_only=True,
    ),
    "wrong": Mode("Wrong numbers, in some way", _wrong),
    "raises": Mode("It raises, or does not compile", _ended(Outcome.RUNTIME_ERROR, Outcome.COMPILE_ERROR)),
    "limits": Mode(
        "Out of time, memory or output", _ended(Outcome.TIME_LIMIT, Outcome.OUT_OF_MEMORY, Outcome.OUTPUT_LIMIT)
    ),
    "rule": Mode("Right numbers, but a rule of the contract is broken", _ended(Outcome.RULE_BROKEN)),
}


def modes_of(drill: Drill) -> tuple[tuple[str, str], ...]:
    """What can be predicted for a drill, as (mode, words)."""
    tiled = drill.framework == "triton"
    return tuple((name, mode.words) for name, mode in MODES.items() if tiled or not mode.kernels_only)


def keep(session: Session, submission: Submission, handed: Handed) -> None:
    """Keep what came with the first run or submission of a drill. Later ones have seen how it went."""
    if (
        handed.user is None
        or handed.mode not in MODES
        or not is_open(session, handed.user, handed.drill, submission)
    ):
        return
    line = " ".join(handed.words.encode("utf-8", "replace").decode().replace("\0", " ").split())
    session.add(
        Prediction(
            user_id=handed.user,
            drill=handed.drill,
            mode=handed.mode,
            words=line[:MOST_WORDS],
            made_at=submission.submitted_at,
        )
    )


def is_open(session: Session, user: str, drill: str, but: Submission | None = None) -> bool:
    """Whether a learner may still predict: nothing of theirs ran, except perhaps `but`, which is about to."""
    if session.get(Prediction, (user, drill)) is not None:
        return False
    ran = select(Submission.id).where(Submission.user_id == user, Submission.drill == drill)
    return session.scalar(ran.where(Submission.id != (but.id if but else "")).limit(1)) is None


def made_with(session: Session, submission: Submission) -> Prediction | None:
    """The prediction that came with this submission or run."""
    known = session.get(Prediction, (submission.user_id, submission.drill)) if submission.user_id else None
    return known if known is not None and known.made_at == submission.submitted_at else None


def told(prediction: Prediction | None, verdict: Verdict) -> Predicted | None:
    """A prediction beside the verdict of what it was made for."""
    mode = MODES.get(prediction.mode) if prediction else None
    if prediction is None or mode is None:
        return None
    ours = verdict.outcome is Outcome.GRADER_PROBLEM
    return Predicted(mode.words, prediction.words, None if ours else mode.shown_by(verdict))
