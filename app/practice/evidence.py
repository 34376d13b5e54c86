"""The evidence of a drill: the command, what went in, what came out, one attempt that failed, what was predicted.

Everything but the learner's notes is derived. Reading order: `gather` → `keep_notes` → `as_markdown`, `as_zip`.
"""

from __future__ import annotations

import io
import re
import zipfile
from dataclasses import dataclass

import msgspec
from sqlalchemy.orm import Session

from app.db import alone, now
from app.practice import hints
from app.practice.models import Evidence
from app.submissions import predictions, view
from app.submissions.models import Prediction, Submission
from app.submissions.pages import HistoryRow
from app.submissions.predictions import Predicted
from grader.drill import Drill
from grader.verdict import Outcome, Verdict

MOST_NOTES = 20_000  # characters
MOST_ROWS = 100  # submissions that are looked through
A_DAY_IN_1980 = (1980, 1, 1, 0, 0, 0)  # the same evidence makes the same bytes


_ID = re.compile(r"[a-z0-9]{16}")


@dataclass(frozen=True)
class Attempt:
    """A submission with its verdict, as its learner may see it."""

    id: str
    number: int
    source: str
    verdict: Verdict


@dataclass(frozen=True)
class Facts:
    """All there is to show about one learner and one drill."""

    drill: str
    title: str
    command: str
    passed: Attempt | None
    failed: Attempt | None
    failures: tuple[HistoryRow, ...]  # what can be shown as the failed attempt
    predicted: Predicted | None
    hints_opened: int
    hints: int
    notes: str
    version: int  # of the notes; 0 while there are none

    @property
    def is_empty(self) -> bool:
        """Whether nothing has been graded yet."""
        return self.passed is None and self.failed is None


@dataclass(frozen=True)
class Kept:
    """What became of notes that were sent. `stale`: somebody saved `there` before, and nothing was changed."""

    there: Evidence
    stale: bool


def gather(session: Session, user: str, drill: Drill) -> Facts:
    """The evidence as it is now."""
    rows = view.history(session, user, {drill.id: drill}, drill.id, limit=MOST_ROWS)
    kept = session.get(Evidence, (user, drill.id))
    ours = (None, Outcome.ACCEPTED, Outcome.GRADER_PROBLEM)
    failures = tuple(row for row in rows if row.outcome not in ours)
    chosen = next((row for row in failures if kept is not None and row.id == kept.failed), None)
    accepted = next((row for row in rows if row.outcome is Outcome.ACCEPTED), None)
    return Facts(
        drill=drill.id,
        title=drill.title,
        command=f"tilewright grade {drill.id} {drill.id}.py",
        passed=_attempt(session, accepted),
        failed=_attempt(session, chosen or next(iter(failures), None)),
        failures=failures,
        predicted=_predicted(session, user, drill.id),
        hints_opened=len(hints.opened_by(session, user, drill.id)),
        hints=len(drill.hints),
        notes=kept.notes if kept else "",
        version=kept.version if kept else 0,
    )


def _attempt(session: Session, row: HistoryRow | None) -> Attempt | None:
    submission = session.get(Submission, row.id) if row is not None else None
    if row is None or submission is None:
        return None
    verdict = view.verdict_of(session, submission)
    return Attempt(row.id, row.number, submission.source, verdict) if verdict is not None else None


def _predicted(session: Session, user: str, drill: str) -> Predicted | None:
    """What was predicted, beside the verdict of the run that it was made for."""
    prediction = session.get(Prediction, (user, drill))
    made_for = view.made_at(session, user, drill, prediction.made_at) if prediction else None
    verdict = view.verdict_of(session, made_for) if made_for else None
    return predictions.told(prediction, verdict) if verdict is not None else None


def keep_notes(session: Session, user: str, drill: str, notes: str, failed: str, base: int) -> Kept:
    """Keep notes that were written on version `base`; on another one nothing is changed."""
    alone(session, user)
    there = session.get(Evidence, (user, drill))
    clean = notes.encode("utf-8", "replace").decode().replace("\0", "")[:MOST_NOTES]
    if there is None:
        there = Evidence(user_id=user, drill=drill, version=0, notes="", changed_at=now())
        session.add(there)
    if there.version != base and there.notes != clean:
        return Kept(there, stale=True)
    there.version, there.notes, there.changed_at = there.version + 1, clean, now()
    there.failed = failed if _ID.fullmatch(failed) else None
    return Kept(there, stale=False)


# --- exports --------------------------------------------------------------------------------------


def as_markdown(facts: Facts) -> str:
    """The evidence as one Markdown file."""
    parts = [f"# {facts.title}", "## Command", _fenced(facts.command, "sh")]
    if facts.passed is not None:
        parts += ["## What went in", _fenced(facts.passed.source, "python")]
        parts += ["## What came out", _plain(facts.passed.verdict.sentence)]
        if facts.passed.verdict.console.text:
            parts += ["What it printed:", _fenced(facts.passed.verdict.console.text, "text")]
    if facts.failed is not None:
        parts += [f"## An attempt that failed (submission {facts.failed.number})"]
        parts += [_plain(facts.failed.verdict.sentence), *_first_failure(facts.failed.verdict)]
        parts += [_fenced(facts.failed.source, "python")]
    if facts.predicted is not None:
        parts += ["## Predicted before the first run", _prediction(facts.predicted)]
    if facts.hints:
        parts += ["## Hints", f"{facts.hints_opened} of {facts.hints} opened."]
    if facts.notes:
        parts += ["## Notes", facts.notes]
    return "\n\n".join(parts) + "\n"


def _first_failure(verdict: Verdict) -> list[str]:
    failing = next((case for case in verdict.cases if case.visible and case.outcome is not Outcome.ACCEPTED), None)
    if failing is None:
        return []
    what = f"{failing.name}: {', '.join(text for text in (failing.shape, failing.dtype, failing.data) if text)}"
    miss = failing.mismatch
    lines = [what, *([f"expected {miss.expected}", f"actual   {miss.actual}"] if miss else []), failing.detail]
    return [_fenced("\n".join(line for line in lines if line), "text")]


def _prediction(predicted: Predicted) -> str:
    line = f" “{_plain(predicted.line)}”" if predicted.line else ""
    held = {True: "It went like that.", False: "It went another way.", None: ""}[predicted.held]
    return f"{predicted.words}.{line} {held}".strip()


def _plain(text: str) -> str:
    """Text that Markdown takes as it is, on one line."""
    return re.sub(r"([\\`*_{}\[\]<>#|!&])", r"\\\1", " ".join(text.split()))


def _fenced(text: str, language: str) -> str:
    """Text in a fence longer than any within it."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text.rstrip(chr(10))}\n{fence}"


def as_zip(facts: Facts) -> bytes:
    """The evidence as an archive: the Markdown, the files, the verdicts. All names are ours."""
    files = {"evidence.md": as_markdown(facts)}
    for name, attempt in (("passed", facts.passed), ("failed", facts.failed)):
        if attempt is not None:
            files[f"{name}.py"] = attempt.source
            files[f"{name}.json"] = msgspec.json.format(msgspec.json.encode(attempt.verdict), indent=2).decode()
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            entry = zipfile.ZipInfo(f"{facts.drill}/{name}", A_DAY_IN_1980)
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, text.encode("utf-8", "replace"))
    return held.getvalue()
