"""What the desk looks like: from its facts to the contexts of the pages."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.accounts.audit import AuditEntry
from app.accounts.models import User
from app.course.snapshot import Snapshot
from app.db import now
from app.desk import work as works
from app.desk.models import DeskLease
from app.desk.pages import AuditLine, CriterionLine, DeskNav, ItemLine, QueueLine, Scoring, WorkPanel
from app.desk.service import FULL, NEW, NONE, NOTHING, Choice, Offered, Scored, items_of, lease_of
from app.desk.work import Criterion, Drills, Waiting, Work, name_of
from app.discussion.service import count_reports
from app.security import Viewer, own_path
from app.submissions import view as submissions
from app.submissions.capstones import view as capstones
from app.submissions.capstones.models import Capstone
from app.submissions.grades import service as grades
from app.submissions.grades.models import Grade, WorkKind
from app.submissions.grades.pages import Feedback, GradeView
from app.submissions.models import Submission, shown_run
from app.submissions.service import runs_of

TAKE_IT = "Take it, so that nobody else scores it meanwhile. Your hold ends by itself after 20 minutes."


def nav(session: Session, here: str, drills: Drills, snapshot: Snapshot, waiting: int | None = None) -> DeskNav:
    """What every page of the desk shows at its top."""
    count = len(works.waiting(session, drills, list(snapshot.tracks))) if waiting is None else waiting
    return DeskNav(here, count, count_reports(session))


def title_of(kind: str, subject: str, drills: Drills, snapshot: Snapshot) -> str:
    """The title of a drill or a track; its id when it is gone."""
    if kind == WorkKind.OUTLINE:
        return submissions.title_of(subject, drills)
    track = snapshot.tracks.get(subject)
    return track.title if track else subject


def queue_lines(
    session: Session, works: Sequence[Waiting], viewer: Viewer, current: str, drills: Drills, snapshot: Snapshot
) -> tuple[QueueLine, ...]:
    """The queue on the left, without the viewer's own work."""
    names = _names(session, [work.user_id for work in works])
    held = _holders(session)
    return tuple(
        QueueLine(
            href=f"/desk/{work.kind}/{work.id}",
            title=title_of(work.kind, work.subject, drills, snapshot),
            kind=work.kind,
            learner=names.get(work.user_id, ""),
            handed_at=work.handed_at,
            again=work.again,
            holder=held.get((work.kind.value, work.id), ""),
            current=work.id == current,
        )
        for work in works
        if work.user_id != viewer.id
    )


def scored_lines(session: Session, drills: Drills, snapshot: Snapshot, limit: int = 10) -> tuple[QueueLine, ...]:
    """What was scored last, to look at it again."""
    rows = session.scalars(select(Grade).order_by(Grade.graded_at.desc(), Grade.id).limit(limit)).all()
    names = _names(session, [grade.user_id for grade in rows])
    return tuple(
        QueueLine(
            href=f"/desk/{grade.kind}/{grade.work}",
            title=title_of(grade.kind, grade.subject, drills, snapshot),
            kind=f"{grade.points} of {grade.possible}",
            learner=names.get(grade.user_id, ""),
            handed_at=grade.graded_at,
            again=grade.version > 1,
            holder=grade.grader,
            current=False,
        )
        for grade in rows
    )


def _names(session: Session, users: Sequence[str]) -> dict[str, str]:
    rows = session.execute(select(User.id, User.username).where(User.id.in_(users)))
    return {row.id: row.username for row in rows}


def _holders(session: Session) -> dict[tuple[str, str], str]:
    rows = session.execute(
        select(DeskLease.kind, DeskLease.work, User.username)
        .join(User, User.id == DeskLease.user_id)
        .where(DeskLease.until > now())
    )
    return {(kind, work): name for kind, work, name in rows}


def panel(session: Session, work: Work, drills: Drills) -> WorkPanel:
    """The work in the centre."""
    capstone = session.get(Capstone, work.id) if work.kind is WorkKind.CAPSTONE else None
    submission = session.get(Submission, work.id) if work.kind is WorkKind.OUTLINE else None
    shown = shown_run(runs_of(session, work.id)) if submission else None
    return WorkPanel(
        kind=work.kind,
        title=work.title,
        name=work.name,
        href=f"/capstones/{work.id}" if capstone else f"/submissions/{work.id}",
        subject_href=f"/tracks/{work.subject}" if capstone else f"/drills/{work.subject}",
        rubric_href=f"/desk/rubrics/{work.kind}/{work.subject}",
        learner=work.learner,
        handed_at=work.handed_at,
        handed=capstones.handed(session, capstone) if capstone else None,
        source=submission.source if submission else "",
        sentence=shown.verdict.sentence if shown and shown.verdict else "",
        feedback=_feedback(session, capstone, submission),
    )


def _feedback(session: Session, capstone: Capstone | None, submission: Submission | None) -> Feedback:
    if capstone is not None:
        return capstones.feedback_of(session, capstone)
    return submissions.feedback_of(session, submission) if submission is not None else Feedback(None, ())


def scoring(
    session: Session,
    viewer: Viewer,
    work: Work,
    rubric: Sequence[Criterion],
    scored: Scored,
    problems: Mapping[str, str],
    theirs: Grade | None = None,
    typed: bool = False,
) -> Scoring:
    """The rubric on the right. What was `typed` stays to be seen and sent again, whoever holds the work."""
    lease = lease_of(session, work)
    mine = lease is not None and lease.user_id == viewer.id
    offered = items_of(session, work.kind, work.subject)
    closed, can_take = "", True
    if work.user_id == viewer.id:
        closed, can_take = "This is your own work: somebody else scores it.", False
    elif lease is not None and not mine:
        holder = name_of(session, lease.user_id)
        closed, can_take = f"{holder} is at work on this one until {lease.until:%H:%M} UTC.", False
    elif lease is None:
        closed = TAKE_IT
    return Scoring(
        action=f"/desk/{work.kind}/{work.id}",
        open=mine or typed,
        why_closed=closed,
        can_take=can_take,
        until=lease.until if mine and lease else None,
        criteria=tuple(
            criterion_line(number, one, scored.choices.get(one.id, Choice()), offered, problems.get(one.id, ""))
            for number, one in enumerate(rubric, start=1)
        ),
        possible=sum(one.points for one in rubric),
        base=scored.base,
        comment=scored.comment,
        reason=scored.reason,
        again=scored.base > 0,
        theirs=_their_view(theirs) if theirs else None,
        problems=problems,
    )


def _their_view(grade: Grade) -> GradeView:
    return grades.seen(grade, "", "")


def criterion_line(number: int, one: Criterion, choice: Choice, offered: Offered, problem: str) -> CriterionLine:
    """A criterion of the form: its items from most points to none, each with its digit."""
    middle = [(item.id, item.text, item.points) for item in offered.get(one.id, [])]
    all_items = [(FULL, one.full, one.points), *middle, (NONE, NOTHING, 0)]
    return CriterionLine(
        id=one.id,
        number=number,
        text=one.text,
        points=one.points,
        items=tuple(
            ItemLine(id, text, points, key if key < 10 else 0, id == choice.item)
            for key, (id, text, points) in enumerate(all_items, start=1)
        ),
        new_chosen=choice.item == NEW,
        new_points=choice.points,
        new_text=choice.text,
        comment=choice.comment,
        problem=problem,
    )


def audit_line(entry: AuditEntry) -> AuditLine:
    """One act, for reading."""
    details = json.loads(entry.details)
    said = ", ".join(f"{key} {value}" for key, value in details.items() if value not in (None, ""))
    href = entry.target if entry.target != "/" and own_path(entry.target) == entry.target else ""
    return AuditLine(entry.at, entry.actor, entry.action, entry.target, href, said)
