"""Scoring: who is at work on what, what a form says, and how a grade is kept.

Reading order: `take` → `problems_of` → `save` → `release`. What a change of a rubric changes is in `rubric`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.accounts.audit import note
from app.db import alone, new_id, now
from app.desk.models import DeskLease, RubricItem
from app.desk.work import Criterion, Work, name_of
from app.errors import Conflict, InvalidForm
from app.security import Viewer
from app.submissions.grades import service as grades
from app.submissions.grades.models import Grade, Mark, WorkKind

LEASE = timedelta(minutes=20)
COMMENT_MOST = 10_000  # characters
ITEM_MOST = 400
FULL, NONE, NEW = "full", "none", "new"
NOTHING = "Not there."

Offered = Mapping[str, list[RubricItem]]  # reusable items by criterion


class Held(Conflict):
    """Somebody else is at work on it until `until`."""

    def __init__(self, holder: str, until: datetime) -> None:
        super().__init__(f"{holder} is at work on this one until {until:%H:%M} UTC.")


class Stale(Conflict):
    """Somebody scored it since the form was opened; `theirs` is what they gave."""

    def __init__(self, theirs: Grade) -> None:
        super().__init__(f"{theirs.grader} scored this one meanwhile. Theirs and yours stand beside each other.")
        self.theirs = theirs


@dataclass(frozen=True)
class Choice:
    """What a grader chose for one criterion. `points` and `text` are those of a new item."""

    item: str = ""  # an item's id, or FULL, NONE, NEW; empty: nothing yet
    points: str = ""
    text: str = ""
    comment: str = ""


@dataclass(frozen=True)
class Scored:
    """The scoring form as it came."""

    base: int = 0  # the version that it was opened on; 0 before the first
    choices: Mapping[str, Choice] = field(default_factory=dict)  # by criterion
    comment: str = ""
    reason: str = ""


def turn_of(kind: str, subject: str) -> tuple[str, str, str]:
    """The name under which `alone` keeps graders of the same rubric apart: a change of it changes their grades."""
    return "desk", str(kind), subject


def lease_of(session: Session, work: Work) -> DeskLease | None:
    """Who is at work on it at the moment."""
    lease = session.get(DeskLease, (work.kind.value, work.id))
    return lease if lease is not None and lease.until > now() else None


def take(session: Session, work: Work, viewer: Viewer) -> None:
    """Be the one who scores it, for `LEASE` from now. Raises `Held` while somebody else is."""
    if work.user_id == viewer.id:
        raise Conflict("This is your own work. Somebody else scores it.")
    alone(session, *turn_of(work.kind, work.subject))
    lease = session.get(DeskLease, (work.kind.value, work.id))
    if lease is None:
        session.add(DeskLease(kind=work.kind, work=work.id, user_id=viewer.id, until=now() + LEASE))
        return
    if lease.until > now() and lease.user_id != viewer.id:
        raise Held(name_of(session, lease.user_id), lease.until)
    lease.user_id, lease.until = viewer.id, now() + LEASE


def release(session: Session, work: Work, viewer: Viewer) -> None:
    """Give it back unscored; what others hold is left alone."""
    alone(session, *turn_of(work.kind, work.subject))
    lease = session.get(DeskLease, (work.kind.value, work.id))
    if lease is not None and lease.user_id == viewer.id:
        session.delete(lease)


def items_of(session: Session, kind: WorkKind, subject: str) -> dict[str, list[RubricItem]]:
    """The reusable items of a rubric that are offered, by criterion, those that earn most first."""
    rows = session.scalars(
        select(RubricItem)
        .where(RubricItem.kind == kind, RubricItem.subject == subject, RubricItem.retired_at.is_(None))
        .order_by(RubricItem.points.desc(), RubricItem.created_at)
    )
    found: dict[str, list[RubricItem]] = {}
    for row in rows:
        found.setdefault(row.criterion, []).append(row)
    return found


def problems_of(scored: Scored, rubric: Sequence[Criterion], offered: Offered) -> dict[str, str]:
    """Why a form cannot be kept, by criterion or field; empty when it can."""
    problems = {}
    for criterion in rubric:
        choice = scored.choices.get(criterion.id, Choice())
        known = {FULL, NONE, NEW, *(item.id for item in offered.get(criterion.id, []))}
        if choice.item not in known:
            problems[criterion.id] = "Choose what you found."
        elif choice.item == NEW:
            problems |= _new_item_problem(criterion, choice)
        if len(choice.comment) > COMMENT_MOST:
            problems[criterion.id] = f"A comment has at most {COMMENT_MOST:,} characters."
    if not rubric:
        problems["form"] = "This rubric has no criteria any more."
    if len(scored.comment) > COMMENT_MOST:
        problems["comment"] = f"A comment has at most {COMMENT_MOST:,} characters."
    return problems


def _new_item_problem(criterion: Criterion, choice: Choice) -> dict[str, str]:
    points = points_in(choice.points, criterion.points)
    if points is None:
        return {criterion.id: f"A new item earns 0 to {criterion.points} points."}
    if not choice.text.strip():
        return {criterion.id: "Say in a few words what earns these points."}
    if len(choice.text) > ITEM_MOST:
        return {criterion.id: f"An item has at most {ITEM_MOST} characters; the rest is a comment."}
    return {}


def points_in(text: str, most: int) -> int | None:
    """A number of points within a criterion's, or ``None``."""
    text = text.strip()
    if not (text.isascii() and text.isdigit() and len(text) <= 3):
        return None
    points = int(text)
    return points if points <= most else None


def save(session: Session, viewer: Viewer, work: Work, rubric: Sequence[Criterion], scored: Scored) -> Grade:
    """Keep a grade as the next version and give the work back.

    Raises `Conflict` for one's own work, `Held` while somebody else is at work on it, `Stale` when somebody
    scored it since the form was opened, and `InvalidForm` with every problem at once.
    """
    if work.user_id == viewer.id:
        raise Conflict("This is your own work. Somebody else scores it.")
    alone(session, *turn_of(work.kind, work.subject))
    lease = lease_of(session, work)
    if lease is not None and lease.user_id != viewer.id:
        raise Held(name_of(session, lease.user_id), lease.until)
    last = grades.newest(session, work.kind, work.id)
    if last is not None and last.version != scored.base:
        raise Stale(last)
    offered = items_of(session, work.kind, work.subject)
    problems = problems_of(scored, rubric, offered)
    if last is not None and not scored.reason.strip():
        problems["reason"] = "It has a score already. Say why it gets another one."
    if problems:
        raise InvalidForm(problems)
    marks = tuple(_mark(session, viewer, work, one, scored.choices[one.id], offered) for one in rubric)
    like = {"kind": work.kind.value, "work": work.id, "user_id": work.user_id, "subject": work.subject}
    grade = grades.add(session, viewer, last, like, marks, scored.comment.strip(), scored.reason.strip())
    release(session, work, viewer)
    return grade


def _mark(
    session: Session,
    viewer: Viewer,
    work: Work,
    criterion: Criterion,
    choice: Choice,
    offered: Offered,
) -> Mark:
    points, item, item_id = _given(session, viewer, work, criterion, choice, offered)
    text = str(criterion.text.striptags())
    return Mark(criterion.id, text, points, criterion.points, item, item_id, choice.comment.strip())


def _given(
    session: Session,
    viewer: Viewer,
    work: Work,
    criterion: Criterion,
    choice: Choice,
    offered: Offered,
) -> tuple[int, str, str]:
    """Points, words and id of what was chosen; a new item becomes one that can be used again."""
    if choice.item == FULL:
        return criterion.points, criterion.full, FULL
    if choice.item == NONE:
        return 0, NOTHING, NONE
    if choice.item != NEW:
        item = next(one for one in offered[criterion.id] if one.id == choice.item)
        return item.points, item.text, item.id
    points, text = int(choice.points), " ".join(choice.text.split())
    same = (one for one in offered.get(criterion.id, []) if (one.points, one.text) == (points, text))
    item = next(same, None) or new_item(session, viewer, work.kind, work.subject, criterion.id, points, text)
    return points, text, item.id


def new_item(
    session: Session, viewer: Viewer, kind: str, subject: str, criterion: str, points: int, text: str
) -> RubricItem:
    """One more reusable item."""
    item = RubricItem(
        id=new_id(),
        kind=kind,
        subject=subject,
        criterion=criterion,
        points=points,
        text=text,
        author=viewer.name,
        created_at=now(),
    )
    session.add(item)
    session.flush()
    note(session, viewer, "add rubric item", f"/desk/rubrics/{kind}/{subject}", {"points": points, "text": text})
    return item


def chosen(grade: Grade | None) -> Scored:
    """The form as the newest grade would fill it, to go on from; empty before the first."""
    if grade is None:
        return Scored()
    choices = {mark.criterion: Choice(item=mark.item_id, comment=mark.comment) for mark in grade.marks}
    return Scored(base=grade.version, choices=choices, comment=grade.comment)


def rebased(scored: Scored, last: Grade) -> Scored:
    """The form on top of what somebody else gave meanwhile: to save it now is to decide knowingly."""
    return replace(scored, base=last.version)
