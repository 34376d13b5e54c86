"""What graders share: reusable items of a rubric, and who is at work on what."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import ForeignKey, Index, String
from sqlalchemy.orm import Mapped, mapped_column

from app.db import Base


class RubricItem(Base):
    """Something that graders find again and again for one criterion, with what it earns. A change is a new row."""

    __tablename__ = "rubric_items"
    __table_args__ = (Index("ix_rubric_items_subject", "kind", "subject"),)

    id: Mapped[str] = mapped_column(String(16), primary_key=True)
    kind: Mapped[str] = mapped_column(String(16))  # a `WorkKind`
    subject: Mapped[str] = mapped_column(String(64))  # the drill or the track
    criterion: Mapped[str] = mapped_column(String(64))
    points: Mapped[int]
    text: Mapped[str] = mapped_column(String(400))
    author: Mapped[str] = mapped_column(String(32))  # who added it; the audit trail has the rest
    created_at: Mapped[datetime]
    retired_at: Mapped[datetime | None]  # no longer offered; grades that used it keep their words


class DeskLease(Base):
    """Who scores a piece of work at the moment. One that has ended binds nobody."""

    __tablename__ = "desk_leases"

    kind: Mapped[str] = mapped_column(String(16), primary_key=True)
    work: Mapped[str] = mapped_column(String(16), primary_key=True)
    user_id: Mapped[str] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"))
    until: Mapped[datetime]
