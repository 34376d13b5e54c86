"""Unlocks as facts: what was opened to whom, by whom or by which code, and when."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from sqlalchemy import CheckConstraint, ForeignKey, String
from sqlalchemy.orm import Mapped, mapped_column

from app.db import Base


class Scope(StrEnum):
    """What an unlock covers."""

    COURSE = "course"
    TOPIC = "topic"
    QUESTION = "question"
    DRILL = "drill"


class Source(StrEnum):
    """Where an unlock comes from. What the policy opens and what is earned are derived, so no row has those."""

    POLICY = "policy"
    CODE = "code"
    GRANT = "grant"
    PURCHASE = "purchase"
    EARNED = "earned"


class UnlockCode(Base):
    """A code that unlocks something for whoever enters it. Only its hash is here: 80 random bits need no salt."""

    __tablename__ = "unlock_codes"
    __table_args__ = (CheckConstraint("uses <= most", name="within_limit"),)

    id: Mapped[str] = mapped_column(String(16), primary_key=True)
    code_hash: Mapped[str] = mapped_column(String(64), unique=True)
    scope: Mapped[str] = mapped_column(String(16))
    item: Mapped[str] = mapped_column(String(64))  # empty for the course
    most: Mapped[int]  # people who may use it
    # Counted here and not from the unlocks: those go with their account, and the use shall stay spent.
    uses: Mapped[int]
    note: Mapped[str] = mapped_column(String(200))  # for whoever hands it out
    created_at: Mapped[datetime]
    created_by: Mapped[str | None] = mapped_column(ForeignKey("users.id", ondelete="SET NULL"))
    expires_at: Mapped[datetime | None]
    revoked_at: Mapped[datetime | None]


class Unlock(Base):
    """Something that was opened to somebody. The same from two sources is two facts, so two rows."""

    __tablename__ = "unlocks"

    user_id: Mapped[str] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), primary_key=True)
    scope: Mapped[str] = mapped_column(String(16), primary_key=True)
    item: Mapped[str] = mapped_column(String(64), primary_key=True)
    source: Mapped[str] = mapped_column(String(16), primary_key=True)
    at: Mapped[datetime]
    given_by: Mapped[str | None] = mapped_column(ForeignKey("users.id", ondelete="SET NULL"))
    code_id: Mapped[str | None] = mapped_column(ForeignKey("unlock_codes.id", ondelete="SET NULL"))
