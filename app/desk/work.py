"""The work that people score: what waits, in which order, and what one piece of it is.

What waits is derived: the newest accepted submission of each learner to each outline, and the newest version of
each capstone, as long as neither has a grade. Ids are random, so their order is one that nobody chose and stays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from markupsafe import Markup, escape
from sqlalchemy import Select, exists, func, select
from sqlalchemy.orm import Session

from app.accounts.models import User
from app.course.snapshot import Snapshot
from app.errors import NotFound
from app.submissions import view as submissions
from app.submissions.capstones.models import Capstone
from app.submissions.grades.models import Grade, WorkKind
from app.submissions.models import Run, Submission, shown_run
from app.submissions.service import runs_of
from grader.drill import Drill
from grader.verdict import Outcome

SHOWN = 100  # pieces of work that the queue lists

Drills = Mapping[str, Drill]


@dataclass(frozen=True)
class Criterion:
    """One line of a rubric. `full` says what full points look like."""

    id: str
    text: Markup
    points: int
    full: str


@dataclass(frozen=True)
class Work:
    """A piece of work at the desk."""

    kind: WorkKind
    id: str
    subject: str  # id of the drill or the track
    title: str
    user_id: str
    learner: str
    handed_at: datetime
    number: int  # the how-manieth of this learner for this subject

    @property
    def name(self) -> str:
        """What the learner calls it."""
        return f"Submission {self.number}" if self.kind is WorkKind.OUTLINE else f"Version {self.number}"


@dataclass(frozen=True)
class Waiting:
    """A piece of work in the queue."""

    kind: WorkKind
    id: str
    subject: str
    user_id: str
    handed_at: datetime
    again: bool  # an earlier one of the same learner was scored


def rubric_of(kind: WorkKind, subject: str, drills: Drills, snapshot: Snapshot) -> tuple[Criterion, ...]:
    """The rubric of a drill or a track; empty when it is gone."""
    if kind is WorkKind.OUTLINE:
        drill = drills.get(subject)
        items = drill.rubric if drill is not None else ()
        return tuple(Criterion(item.id, escape(item.text), item.points, item.full) for item in items)
    track = snapshot.tracks.get(subject)
    criteria = track.rubric if track is not None else ()
    return tuple(Criterion(one.id, one.text, one.points, "All of it is there and holds up.") for one in criteria)


def outlines(drills: Drills) -> list[str]:
    """The drills whose automatic part is not the whole: a person scores them by their rubric."""
    return [drill.id for drill in drills.values() if drill.kind == "outline"]


def waiting(session: Session, drills: Drills, tracks: Sequence[str]) -> list[Waiting]:
    """What waits for a person, in the desk's order."""
    found = [
        *(_waiting(WorkKind.OUTLINE, row) for row in session.execute(_open_outlines(outlines(drills)))),
        *(_waiting(WorkKind.CAPSTONE, row) for row in session.execute(_open_capstones(tracks))),
    ]
    return sorted(found, key=lambda work: work.id)


def _waiting(kind: WorkKind, row: Any) -> Waiting:
    return Waiting(kind, row.id, row.subject, row.user_id, row.handed_at, bool(row.again))


def _open_outlines(drills: Sequence[str]) -> Select[Any]:
    """The newest accepted submission of each learner to each outline, where it has no grade."""
    real = (
        select(Run.submission_id, func.max(Run.number).label("number"))
        .join(Submission, Submission.id == Run.submission_id)
        .where(Submission.drill.in_(drills), Submission.user_id.is_not(None), ~Submission.trial)
        .where(Run.outcome.is_not(None), Run.outcome != Outcome.GRADER_PROBLEM)
        .group_by(Run.submission_id)
        .subquery()
    )
    place = func.row_number().over(
        partition_by=(Submission.user_id, Submission.drill),
        order_by=(Submission.submitted_at.desc(), Submission.id.desc()),
    )
    accepted = (
        select(
            Submission.id,
            Submission.drill.label("subject"),
            Submission.user_id,
            Submission.submitted_at.label("handed_at"),
            place.label("place"),
        )
        .join(Run, Run.submission_id == Submission.id)
        .join(real, (real.c.submission_id == Run.submission_id) & (real.c.number == Run.number))
        .where(Run.outcome == Outcome.ACCEPTED)
        .subquery()
    )
    return _ungraded(accepted, WorkKind.OUTLINE)


def _open_capstones(tracks: Sequence[str]) -> Select[Any]:
    """The newest version of each capstone, where it has no grade."""
    place = func.row_number().over(
        partition_by=(Capstone.user_id, Capstone.track), order_by=Capstone.version.desc()
    )
    newest = (
        select(
            Capstone.id,
            Capstone.track.label("subject"),
            Capstone.user_id,
            Capstone.submitted_at.label("handed_at"),
            place.label("place"),
        )
        .where(Capstone.track.in_(tracks))
        .subquery()
    )
    return _ungraded(newest, WorkKind.CAPSTONE)


def _ungraded(works: Any, kind: WorkKind) -> Select[Any]:
    graded = exists().where(Grade.kind == kind, Grade.work == works.c.id)
    before = exists().where(Grade.kind == kind, Grade.user_id == works.c.user_id, Grade.subject == works.c.subject)
    return (
        select(works.c.id, works.c.subject, works.c.user_id, works.c.handed_at, before.label("again"))
        .where(works.c.place == 1, ~graded)
        .order_by(works.c.id)
        .limit(SHOWN)
    )


def find(session: Session, kind: str, id: str, drills: Drills, snapshot: Snapshot) -> Work:
    """A piece of work, scored or not. Raises `NotFound` for what no person scores."""
    if kind == WorkKind.OUTLINE:
        return _outline(session, id, drills)
    if kind == WorkKind.CAPSTONE:
        return _capstone(session, id, snapshot)
    raise NotFound("work")


def _outline(session: Session, id: str, drills: Drills) -> Work:
    submission = session.get(Submission, id)
    if submission is None or submission.user_id is None or submission.trial:
        raise NotFound("work")
    if submission.drill not in outlines(drills):
        raise NotFound("work")
    shown = shown_run(runs_of(session, id))
    if shown is None or shown.outcome != Outcome.ACCEPTED:
        raise NotFound("work")
    return Work(
        WorkKind.OUTLINE,
        id,
        submission.drill,
        drills[submission.drill].title,
        submission.user_id,
        name_of(session, submission.user_id),
        submission.submitted_at,
        submissions.number_of(session, submission),
    )


def _capstone(session: Session, id: str, snapshot: Snapshot) -> Work:
    row = session.get(Capstone, id)
    if row is None:
        raise NotFound("work")
    track = snapshot.tracks.get(row.track)
    title = track.title if track else row.track
    learner = name_of(session, row.user_id)
    return Work(WorkKind.CAPSTONE, id, row.track, title, row.user_id, learner, row.submitted_at, row.version)


def name_of(session: Session, user: str) -> str:
    """The name of an account."""
    return session.scalar(select(User.username).where(User.id == user)) or "a former member"
