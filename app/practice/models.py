"""What a learner keeps while working on a drill: facts only. Nothing here is ever graded by itself."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from sqlalchemy import ForeignKey, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from app.db import Base


class Cause(StrEnum):
    """Why a version of a draft exists."""

    AUTO = "auto"  # saved by itself while somebody typed
    SAVED = "saved"  # saved on purpose; kept longer
    ASIDE = "aside"  # written on an older version than the newest: kept beside the draft, not as it


class DraftVersion(Base):
    """One text of a draft. The draft itself is the newest version that was not put aside."""

    __tablename__ = "draft_versions"

    user_id: Mapped[str] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), primary_key=True)
    drill: Mapped[str] = mapped_column(String(64), primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)  # from 1, without gaps when made
    base: Mapped[int]  # the version that its writer had before them; 0 is none
    cause: Mapped[str] = mapped_column(String(8))
    source: Mapped[str] = mapped_column(Text)
    saved_at: Mapped[datetime]


class HintOpened(Base):
    """A rung of a drill's ladder of hints that a learner asked for; the first time counts."""

    __tablename__ = "hints_opened"

    user_id: Mapped[str] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), primary_key=True)
    drill: Mapped[str] = mapped_column(String(64), primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)  # from 1
    opened_at: Mapped[datetime]


class Evidence(Base):
    """What a learner adds to the evidence of a drill: notes, and which failed attempt to show."""

    __tablename__ = "evidence"

    user_id: Mapped[str] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), primary_key=True)
    drill: Mapped[str] = mapped_column(String(64), primary_key=True)
    version: Mapped[int]  # from 1; a save carries the one it began from
    notes: Mapped[str] = mapped_column(Text)
    failed: Mapped[str | None] = mapped_column(String(16))  # a submission's id; None: the newest that failed
    changed_at: Mapped[datetime]
