"""The texts of a drill that can be compared, and how an address names them: `starter`, `draft`, `draft-12`, or the
id of one of one's own submissions.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.orm import Session

from app.errors import NotFound
from app.practice import drafts
from app.submissions import view
from app.submissions.models import Submission
from grader.drill import Drill

STARTER = "starter"
DRAFT = "draft"


@dataclass(frozen=True)
class Text:
    """One text: what an address calls it, what a person calls it, and where it comes from."""

    ref: str
    name: str
    source: str
    at: datetime | None = None
    href: str = ""


def find(session: Session, user: str, drill: Drill, ref: str) -> Text:
    """The text that `ref` names. Raises `NotFound`, also for what belongs to somebody else."""
    if ref == STARTER:
        return Text(ref, "The starter", drill.starter)
    if ref == DRAFT:
        draft = drafts.current(session, user, drill.id)
        if draft is None:
            raise NotFound("draft")
        return Text(ref, "Your draft", draft.source, draft.saved_at, f"/drills/{drill.id}#editor")
    number = ref.removeprefix(f"{DRAFT}-")
    if number != ref and number.isdecimal() and len(number) < 10:
        version = drafts.version(session, user, drill.id, int(number))
        href = f"/drills/{drill.id}/drafts/{version.number}"
        return Text(ref, f"Draft, version {version.number}", version.source, version.saved_at, href)
    submission = session.get(Submission, ref) if len(ref) <= 16 else None
    if submission is None or submission.user_id != user or submission.drill != drill.id:
        raise NotFound("text of yours")
    return of_submission(session, submission)


def of_submission(session: Session, submission: Submission) -> Text:
    """The text of a submission, or of a run."""
    name = "A run" if submission.trial else f"Submission {view.number_of(session, submission)}"
    href = f"/submissions/{submission.id}"
    return Text(submission.id, name, submission.source, submission.submitted_at, href)


def choices(session: Session, user: str, drill: Drill, limit: int = 50) -> tuple[tuple[str, str], ...]:
    """What can be compared, as (ref, name), newest first."""
    found: list[tuple[str, str]] = []
    if drafts.current(session, user, drill.id) is not None:
        found.append((DRAFT, "Your draft"))
    rows = view.history(session, user, {drill.id: drill}, drill.id, limit=limit)
    found += [(row.id, f"Submission {row.number}: {row.sentence[:60]}") for row in rows]
    return (*found, (STARTER, "The starter"))
