"""A rubric's reusable items, and what a change of one changes: every grade that uses it, shown before."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec
from sqlalchemy import select
from sqlalchemy.orm import Session

from app.accounts.audit import note
from app.db import alone, now
from app.desk.models import RubricItem
from app.desk.service import new_item, turn_of
from app.errors import NotFound
from app.security import Viewer
from app.submissions.grades import service as grades
from app.submissions.grades.models import Grade, Mark


@dataclass(frozen=True)
class Change:
    """A grade that a change of an item changes, and the marks it would have."""

    grade: Grade
    marks: tuple[Mark, ...]

    @property
    def points(self) -> int:
        """The points after the change."""
        return sum(mark.points for mark in self.marks)


def find_item(session: Session, id: str) -> RubricItem:
    """An item that is offered, for whoever is about to change it. Raises `NotFound`."""
    item = session.get(RubricItem, id)
    if item is not None:
        alone(session, *turn_of(item.kind, item.subject))
    if item is None or item.retired_at is not None:
        raise NotFound("item")
    return item


def uses(session: Session, kind: str, subject: str) -> dict[str, list[Grade]]:
    """The grades that count and use an item, by the item's id."""
    rows = session.scalars(select(Grade).where(Grade.kind == kind, Grade.subject == subject))
    found: dict[str, list[Grade]] = {}
    for grade in grades.counting(rows).values():
        for mark in grade.marks:
            found.setdefault(mark.item_id, []).append(grade)
    return found


def changes(session: Session, item: RubricItem, points: int, text: str, new: str = "") -> list[Change]:
    """Who changes when `item` earns `points` and reads `text`. `new` is the id of the item in its place."""

    def changed(mark: Mark) -> Mark:
        if mark.item_id != item.id:
            return mark
        return msgspec.structs.replace(mark, points=points, item=text, item_id=new or item.id)

    using = uses(session, item.kind, item.subject).get(item.id, [])
    return [Change(grade, tuple(changed(mark) for mark in grade.marks)) for grade in using]


def change_item(session: Session, viewer: Viewer, item: RubricItem, points: int, text: str) -> int:
    """Put another item in the place of `item`; grades that use it get a new version. Returns how many did."""
    item.retired_at = now()
    fresh = new_item(session, viewer, item.kind, item.subject, item.criterion, points, text)
    found = changes(session, item, points, text, fresh.id)
    reason = f"The rubric's item “{item.text}” changed from {item.points} to {points} points."
    if item.points == points:
        reason = f"The rubric's item “{item.text}” now reads “{text}”."
    for change in found:
        old = change.grade
        like = {"kind": old.kind, "work": old.work, "user_id": old.user_id, "subject": old.subject}
        grades.add(session, viewer, old, like, change.marks, old.comment, reason)
    return len(found)


def retire_item(session: Session, viewer: Viewer, item: RubricItem) -> None:
    """Offer an item no more; grades that used it stay as they are."""
    item.retired_at = now()
    note(session, viewer, "retire rubric item", f"/desk/rubrics/{item.kind}/{item.subject}", {"text": item.text})
