"""A learner's own answer to a question, and how they scored it by the rubric. Nobody else ever sees either."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime

from sqlalchemy import ForeignKey, String, Text
from sqlalchemy.orm import Mapped, Session, mapped_column

from app.course.pages import OwnAnswer
from app.course.render import render_untrusted
from app.db import Base, alone, now
from app.errors import InvalidForm

TEXT_MOST = 20_000  # characters


class Attempt(Base):
    """What somebody answered before they read the answer; saving again replaces it."""

    __tablename__ = "attempts"

    user_id: Mapped[str] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), primary_key=True)
    question: Mapped[str] = mapped_column(String(64), primary_key=True)
    text: Mapped[str] = mapped_column(Text)  # Markdown
    saved_at: Mapped[datetime]
    scores: Mapped[str | None] = mapped_column(Text)  # JSON: points by criterion
    scored_at: Mapped[datetime | None]


def has_attempt(session: Session, user: str, question: str) -> bool:
    """Whether somebody has written an answer of their own."""
    row = session.get(Attempt, (user, question))
    return row is not None and row.text != ""


def own_answer(session: Session, user: str, question: str) -> OwnAnswer | None:
    """Somebody's own answer, for the question's page."""
    row = session.get(Attempt, (user, question))
    if row is None:
        return None
    scores: Mapping[str, int] = json.loads(row.scores) if row.scores else {}
    return OwnAnswer(row.text, render_untrusted(row.text), row.saved_at, scores, row.scored_at)


def keep(session: Session, user: str, question: str, text: str) -> None:
    """Keep an answer; an empty one takes the last away. Raises `InvalidForm`."""
    if len(text) > TEXT_MOST:
        raise InvalidForm({"text": f"An answer has at most {TEXT_MOST:,} characters. Shorten it."})
    alone(session, user)
    row = session.get(Attempt, (user, question))
    if row is None:
        session.add(Attempt(user_id=user, question=question, text=text, saved_at=now()))
    elif row.text != text:
        row.text, row.saved_at, row.scores, row.scored_at = text, now(), None, None


def score(session: Session, user: str, question: str, scores: Mapping[str, int]) -> None:
    """Keep how somebody scored their own answer; without an answer there is nothing to score."""
    alone(session, user)
    row = session.get(Attempt, (user, question))
    if row is None or not row.text:
        raise InvalidForm({"text": "Keep an answer of your own first, then score it."})
    row.scores, row.scored_at = json.dumps(dict(scores)), now()
