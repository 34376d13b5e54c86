"""What somebody has read."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import ForeignKey, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from app.db import Base


class Reading(Base):
    """A card or question that a learner marked as read; the first time counts."""

    __tablename__ = "readings"

    user_id: Mapped[str] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), primary_key=True)
    kind: Mapped[str] = mapped_column(String(16), primary_key=True)  # "card" or "question"
    item: Mapped[str] = mapped_column(String(64), primary_key=True)  # ids never change
    read_at: Mapped[datetime]


class Bookmark(Base):
    """A card, question, track or drill that a learner wants to find again."""

    __tablename__ = "bookmarks"

    user_id: Mapped[str] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), primary_key=True)
    kind: Mapped[str] = mapped_column(String(16), primary_key=True)
    item: Mapped[str] = mapped_column(String(64), primary_key=True)
    at: Mapped[datetime]


class Note(Base):
    """What a learner wrote beside an item, for themselves alone. `version` counts the saves."""

    __tablename__ = "notes"

    user_id: Mapped[str] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), primary_key=True)
    kind: Mapped[str] = mapped_column(String(16), primary_key=True)
    item: Mapped[str] = mapped_column(String(64), primary_key=True)
    text: Mapped[str] = mapped_column(Text)  # Markdown
    version: Mapped[int]
    saved_at: Mapped[datetime]
