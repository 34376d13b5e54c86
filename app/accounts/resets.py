"""A forgotten password: a letter with a secret that lets its reader choose a new one, once, within the hour.

Whoever asks learns nothing: the page says the same, after the same time, whether there is such an account, since
everything that depends on it happens after the answer has left.
"""

from __future__ import annotations

import hashlib
import secrets
from datetime import timedelta

from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session

from app.accounts import own, service
from app.accounts.mail import Letter, Sender, send_all
from app.accounts.models import PasswordReset, User
from app.db import Database, alone, new_id, now
from app.errors import InvalidForm

LIVES = timedelta(hours=1)
MOST = 3  # good letters that one account may have at a time
ACCOUNTS = 5  # that one address gets letters for at a time
STALE = "This letter is no longer good: it was used, or it is older than an hour, or a newer password was chosen."


def write_letters(database: Database, sender: Sender, origin: str, who: str) -> int:
    """Send a letter to each account that goes by this name or e-mail address; returns how many.

    `origin` comes from the settings, never from the request: its Host header is whatever a stranger wrote.
    """
    with database.write() as session:
        letters = [_letter(session, user, origin) for user in _wanted(session, who)]
    return send_all(sender, letters)


def holder(session: Session, token: str) -> User | None:
    """Whose password a letter's secret may change; None for one that is no longer good."""
    return session.scalar(
        select(User)
        .join(PasswordReset, PasswordReset.user_id == User.id)
        .where(PasswordReset.token_hash == _hash(token), PasswordReset.expires_at > now())
    )


def choose(session: Session, token: str, password_hash: str) -> User:
    """Set a new password from its hash; every sign-in and letter ends. Raises `InvalidForm` for a stale secret."""
    row = session.get(PasswordReset, _hash(token), with_for_update=True)
    if row is None or row.expires_at <= now():
        raise InvalidForm({"form": STALE})
    return own.change_password(session, row.user_id, password_hash)


def _wanted(session: Session, who: str) -> list[User]:
    """The accounts of that name or address which may get a letter now."""
    text = who.strip()[:254]
    named = service.find(session, text)
    found = [named] if named is not None else []
    if "@" in text and "\0" not in text and text.isprintable():
        found = list(session.scalars(select(User).where(func.lower(User.email) == text.lower()).limit(ACCOUNTS)))
    for user in sorted(found, key=lambda user: user.id):
        alone(session, user.id)
    return [user for user in found if user.email and _open_letters(session, user) < MOST]


def _open_letters(session: Session, user: User) -> int:
    session.execute(
        delete(PasswordReset).where(PasswordReset.user_id == user.id, PasswordReset.expires_at <= now())
    )
    mine = select(func.count()).select_from(PasswordReset).where(PasswordReset.user_id == user.id)
    return session.scalar(mine) or 0


def _letter(session: Session, user: User, origin: str) -> Letter:
    token = f"{new_id()}{secrets.token_urlsafe(24)}"
    moment = now()
    session.add(
        PasswordReset(token_hash=_hash(token), user_id=user.id, created_at=moment, expires_at=moment + LIVES)
    )
    text = (
        f"Somebody, you we hope, asked for a new password of the Tilewright account {user.username}.\n\n"
        f"Choose one here within the hour; this works once:\n{origin}/reset?token={token}\n\n"
        "If it was not you, do nothing: the password stays as it is.\n"
    )
    return Letter(to=user.email or "", subject="A new password for Tilewright", text=text)


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()
