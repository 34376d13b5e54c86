"""What an account owns: changing it, taking it along as JSON, and deleting it with everything that hangs on it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import Select, delete, func, or_, select
from sqlalchemy.orm import Session

from app.accounts import audit, service
from app.accounts.models import KnownBrowser, PasswordReset, Role, User
from app.db import Base, alone, now
from app.errors import Conflict, InvalidForm
from app.security import RateWindow, Viewer

# By the name of a part, what gathers it for one user. `main` puts those of all features into `app.state`.
Exporters = Mapping[str, Callable[[Session, str], list[dict[str, Any]]]]


def rows(session: Session, query: Select[Any], leave_out: tuple[str, ...] = ()) -> list[dict[str, Any]]:
    """The rows of one table that `query` selects, as JSON can hold them; moments are ISO 8601 in UTC."""
    found: list[Base] = list(session.scalars(query))
    return [
        {
            column.key: _plain(getattr(row, column.key))
            for column in row.__table__.columns
            if column.key not in leave_out
        }
        for row in found
    ]


def export(session: Session, viewer: Viewer, exporters: Exporters) -> dict[str, Any]:
    """Everything that is stored about somebody."""
    parts = {name: gather(session, viewer.id) for name, gather in exporters.items()}
    return {"format": "tilewright-export-1", "exported_at": now().isoformat(), **parts}


def change_email(session: Session, user: str, email: str) -> None:
    """Set or, when empty, remove an e-mail address. Letters to the old one are no longer good."""
    email = email.strip()
    problem = service.email_problem(email)
    if problem:
        raise InvalidForm({"email": problem})
    session.get_one(User, user).email = email or None
    session.execute(delete(PasswordReset).where(PasswordReset.user_id == user))


def change_password(session: Session, user: str, password_hash: str) -> User:
    """Set a password from its hash. Every browser is signed out and no longer known, and letters are void."""
    row = session.get_one(User, user)
    for table in (PasswordReset, KnownBrowser):
        session.execute(delete(table).where(table.user_id == user))
    service.change_password(session, row, password_hash)
    return row


def erase(session: Session, user: str) -> None:
    """Delete an account and everything that is stored about it: what it owns hangs on it by cascading keys.

    Raises `Conflict` for the last administrator, without whom nobody could run the site.
    """
    alone(session, user)
    row = session.get(User, user)
    if row is None:
        return
    if row.role == Role.ADMIN:
        alone(session, "administrators")
    admins = session.scalar(select(func.count()).select_from(User).where(User.role == Role.ADMIN))
    if row.role == Role.ADMIN and admins == 1:
        raise Conflict(
            "You are the only administrator.", "Make another one first: tilewright user role NAME admin."
        )
    name = row.username_key
    session.execute(
        delete(RateWindow).where(
            or_(
                RateWindow.key == f"sign-in:name:{name}",
                RateWindow.key.startswith(f"sign-in:name:{name}:", autoescape=True),
                RateWindow.key.contains(user, autoescape=True),
            )
        )
    )
    audit.forget(session, service.as_viewer(row))
    session.execute(delete(User).where(User.id == user))


def _plain(value: object) -> object:
    if isinstance(value, datetime):
        return value.isoformat()
    return value
