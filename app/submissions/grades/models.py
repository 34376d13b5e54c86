"""A person's grade of a piece of work. Rows are added and never changed; the highest version counts."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Any

import msgspec
from sqlalchemy import CheckConstraint, Dialect, ForeignKey, Index, String, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column
from sqlalchemy.types import TypeDecorator

from app.db import Base


class WorkKind(StrEnum):
    """What a person scores. The value is a part of the desk's addresses."""

    OUTLINE = "outline"  # a submission to a drill of kind `outline` whose automatic part was accepted
    CAPSTONE = "capstone"  # a version of a track's capstone


class Mark(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One criterion of a grade, as the rubric read when it was given."""

    criterion: str  # its id
    text: str
    points: int
    possible: int
    item: str  # what was found, in the words of the rubric's item
    item_id: str  # of the reusable item; "full" or "none" for the two that every criterion has
    comment: str  # Markdown


class MarksText(TypeDecorator[tuple[Mark, ...]]):
    """Marks as JSON text, in the rubric's order."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: tuple[Mark, ...] | None, dialect: Dialect) -> str | None:
        return None if value is None else msgspec.json.encode(value).decode()

    def process_result_value(self, value: Any | None, dialect: Dialect) -> tuple[Mark, ...] | None:
        return None if value is None else msgspec.json.decode(value, type=tuple[Mark, ...])


class Grade(Base):
    """What somebody gave for a piece of work, once."""

    __tablename__ = "grades"
    __table_args__ = (
        UniqueConstraint("kind", "work", "version"),
        CheckConstraint("points >= 0 AND points <= possible", name="points_within"),
        Index("ix_grades_learner", "user_id", "kind", "subject"),
    )

    id: Mapped[str] = mapped_column(String(16), primary_key=True)
    kind: Mapped[str] = mapped_column(String(16))
    work: Mapped[str] = mapped_column(String(16))  # a submission or a version of a capstone
    version: Mapped[int]  # from 1 within the work
    user_id: Mapped[str] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"))  # whose work it is
    subject: Mapped[str] = mapped_column(String(64))  # the drill or the track
    grader_id: Mapped[str | None] = mapped_column(ForeignKey("users.id", ondelete="SET NULL"))
    grader: Mapped[str] = mapped_column(String(32))  # the name then
    graded_at: Mapped[datetime]
    points: Mapped[int]
    possible: Mapped[int]
    marks: Mapped[tuple[Mark, ...]] = mapped_column(MarksText)
    comment: Mapped[str] = mapped_column(Text)  # Markdown, about the whole
    reason: Mapped[str] = mapped_column(Text)  # why an earlier grade was replaced; empty for the first
