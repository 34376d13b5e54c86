"""Hints as a ladder: a learner opens one rung after another, and when is kept. What is not open leaves no trace."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from markupsafe import Markup
from sqlalchemy import select
from sqlalchemy.orm import Session

from app.course.render import render_markdown
from app.db import alone, now
from app.errors import NotFound
from app.practice.models import HintOpened
from grader.drill import Drill


@dataclass(frozen=True)
class Hint:
    """A rung of the ladder that was opened."""

    number: int  # from 1
    text: Markup
    opened_at: datetime


@dataclass(frozen=True)
class Ladder:
    """The hints of a drill: those that were opened, and how many there are."""

    opened: tuple[Hint, ...]
    total: int


def open_next(session: Session, user: str, drill: Drill, number: int) -> None:
    """Open rung `number`, from 1. Raises `NotFound` unless it is the next one; an open one stays open."""
    alone(session, user)
    opened = opened_by(session, user, drill.id)
    if number in {one.number for one in opened}:
        return
    if number != len(opened) + 1 or number > len(drill.hints):
        raise NotFound("hint")
    session.add(HintOpened(user_id=user, drill=drill.id, number=number, opened_at=now()))


def opened_by(session: Session, user: str, drill: str) -> list[HintOpened]:
    """The rungs that a learner has opened, in order."""
    query = select(HintOpened).where(HintOpened.user_id == user, HintOpened.drill == drill)
    return list(session.scalars(query.order_by(HintOpened.number)))


def ladder(drill: Drill, opened: Sequence[HintOpened]) -> Ladder:
    """What the page shows: the open rungs with their text, and how many there are."""
    shown = tuple(
        Hint(one.number, render_markdown(drill.hints[one.number - 1]), one.opened_at)
        for one in opened
        if one.number <= len(drill.hints)
    )
    return Ladder(shown, len(drill.hints))
