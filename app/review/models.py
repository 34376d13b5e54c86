"""What is reviewed, and the log of everything that happened to it.

The log is the truth and is only ever appended to: `app.review.schedule.replay` makes an item's state of it.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from sqlalchemy import ForeignKey, Index, String, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from app.db import Base


class Action(StrEnum):
    """What may happen to an item."""

    GRADE = "grade"
    UNDO = "undo"  # an earlier event counts as if it had not been
    SUSPEND = "suspend"
    RESUME = "resume"
    SKIP = "skip"  # not today


class ReviewItem(Base):
    """A prompt, or a drill to do again, once something has happened to it. What is only met so far has no row."""

    __tablename__ = "review_items"
    __table_args__ = (UniqueConstraint("user_id", "kind", "item", "prompt"),)

    id: Mapped[int] = mapped_column(primary_key=True)  # the scheduler wants an integer of ours
    user_id: Mapped[str] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"))
    kind: Mapped[str] = mapped_column(String(16))  # "card", "track" or "drill"
    item: Mapped[str] = mapped_column(String(64))
    prompt: Mapped[str] = mapped_column(String(64))  # empty for a drill
    first_due: Mapped[datetime]  # when it was met: where a replay of the log begins
    state: Mapped[int]  # the scheduler's: learning 1, review 2, relearning 3
    step: Mapped[int | None]
    stability: Mapped[float | None]  # days until recall falls to nine in ten
    difficulty: Mapped[float | None]  # from 1 to 10
    due: Mapped[datetime]
    last_review: Mapped[datetime | None]
    lapses: Mapped[int]  # times it was forgotten after it had been known
    suspended: Mapped[bool]


class ReviewEvent(Base):
    """One thing that happened to an item. Append-only."""

    __tablename__ = "review_events"
    __table_args__ = (UniqueConstraint("user_id", "token"), Index("ix_review_events_day", "user_id", "at"))

    item_id: Mapped[int] = mapped_column(ForeignKey("review_items.id", ondelete="CASCADE"), primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True)  # from 1 within the item
    user_id: Mapped[str] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"))
    token: Mapped[str] = mapped_column(String(64))  # chosen by the page: the same one again is the same event
    action: Mapped[str] = mapped_column(String(8))
    at: Mapped[datetime]
    rating: Mapped[int | None]  # 1 again, 2 hard, 3 good, 4 easy
    retention: Mapped[float | None]  # what was wanted at the time, so that a replay gives the same
    undoes: Mapped[int | None]  # the number of the event that an undo takes back
