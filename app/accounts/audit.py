"""Who did what to whom: one row for every grade, unlock, change of role and act of moderation. Append-only."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime

from sqlalchemy import ForeignKey, Index, String, Text, select, tuple_
from sqlalchemy.orm import Mapped, Session, mapped_column

from app.db import Base, new_id, now
from app.security import Viewer


class AuditEntry(Base):
    """One act. The actor's name is kept beside the id, so that the trail outlives the account."""

    __tablename__ = "audit_entries"
    __table_args__ = (Index("ix_audit_entries_at", "at", "id"),)

    id: Mapped[str] = mapped_column(String(16), primary_key=True)
    at: Mapped[datetime]
    actor_id: Mapped[str | None] = mapped_column(ForeignKey("users.id", ondelete="SET NULL"))
    actor: Mapped[str] = mapped_column(String(32))
    action: Mapped[str] = mapped_column(String(40))  # "grade", "hide post", …
    target: Mapped[str] = mapped_column(String(160))  # the address of what was acted on
    details: Mapped[str] = mapped_column(Text)  # JSON of what changed


def note(session: Session, actor: Viewer, action: str, target: str, details: Mapping[str, object]) -> None:
    """Add an act to the trail, in the transaction of the act itself."""
    session.add(
        AuditEntry(
            id=new_id(),
            at=now(),
            actor_id=actor.id,
            actor=actor.name,
            action=action,
            target=target,
            details=json.dumps(details, ensure_ascii=True),
        )
    )


def trail(session: Session, before: str = "", limit: int = 50) -> list[AuditEntry]:
    """Acts, newest first, older than the one with id `before`."""
    query = select(AuditEntry)
    mark = session.get(AuditEntry, before) if before else None
    if mark is not None:
        query = query.where(tuple_(AuditEntry.at, AuditEntry.id) < tuple_(mark.at, mark.id))
    return list(session.scalars(query.order_by(AuditEntry.at.desc(), AuditEntry.id.desc()).limit(limit)))
