"""Who did what to whom: one row for every grade, unlock, change of role and act of moderation. Append-only.

An account that goes takes its name out of what it did for itself and of what was done to it. What an administrator
did, they did for the site, so their name stays.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime

from sqlalchemy import ForeignKey, Index, String, Text, func, select, tuple_, update
from sqlalchemy.orm import Mapped, Session, mapped_column

from app.db import Base, new_id, now
from app.security import Viewer

CONSOLE = "the console"  # whoever types commands on the machine; no account can have such a name
GONE = "a deleted account"


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


def note(session: Session, actor: Viewer | None, action: str, target: str, details: Mapping[str, object]) -> None:
    """Add an act to the trail, in the transaction of the act itself. `actor` None is the console."""
    session.add(
        AuditEntry(
            id=new_id(),
            at=now(),
            actor_id=actor.id if actor else None,
            actor=actor.name if actor else CONSOLE,
            action=action,
            target=target,
            details=json.dumps(details, ensure_ascii=True),
        )
    )


def forget(session: Session, actor: Viewer) -> None:
    """Take the name of an account that goes out of the trail."""
    if not actor.is_admin:
        mine = update(AuditEntry).where(AuditEntry.actor_id == actor.id)
        session.execute(mine.values(actor=GONE))
    for relation in ("to", "from"):
        said, gone = (f'"{relation}": {json.dumps(name)}' for name in (actor.name, GONE))
        about = update(AuditEntry).where(AuditEntry.details.contains(said, autoescape=True))
        session.execute(about.values(details=func.replace(AuditEntry.details, said, gone)))
    session.execute(update(AuditEntry).where(AuditEntry.target == actor.name).values(target=GONE))


def trail(session: Session, before: str = "", limit: int = 50) -> list[AuditEntry]:
    """Acts, newest first, older than the one with id `before`."""
    query = select(AuditEntry)
    mark = session.get(AuditEntry, before) if before else None
    if mark is not None:
        query = query.where(tuple_(AuditEntry.at, AuditEntry.id) < tuple_(mark.at, mark.id))
    return list(session.scalars(query.order_by(AuditEntry.at.desc(), AuditEntry.id.desc()).limit(limit)))
