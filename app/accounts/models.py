"""Who has an account, and which browsers are signed in to it."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from sqlalchemy import ForeignKey, String
from sqlalchemy.orm import Mapped, mapped_column

from app.db import Base


class Role(StrEnum):
    """What somebody may do. Anonymous is nobody's role: it is the absence of a user."""

    LEARNER = "learner"
    AUTHOR = "author"
    ADMIN = "admin"


class User(Base):
    """An account."""

    __tablename__ = "users"

    id: Mapped[str] = mapped_column(String(16), primary_key=True)
    username: Mapped[str] = mapped_column(String(32))  # as typed at sign-up
    username_key: Mapped[str] = mapped_column(String(32), unique=True)  # in lower case: Ada and ada are one
    password_hash: Mapped[str] = mapped_column(String(255))
    email: Mapped[str | None] = mapped_column(String(254))
    role: Mapped[str] = mapped_column(String(16))
    created_at: Mapped[datetime]


class SignIn(Base):
    """A browser that is signed in. The cookie holds a random secret; only its hash is here."""

    __tablename__ = "sign_ins"

    secret_hash: Mapped[str] = mapped_column(String(64), primary_key=True)
    user_id: Mapped[str] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)
    created_at: Mapped[datetime]
    expires_at: Mapped[datetime] = mapped_column(index=True)


class Preferences(Base):
    """How somebody likes the site. No row means the defaults of `app.accounts.preferences`."""

    __tablename__ = "preferences"

    user_id: Mapped[str] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), primary_key=True)
    theme: Mapped[str] = mapped_column(String(8))
    time_zone: Mapped[str] = mapped_column(String(64))
    editor_keys: Mapped[str] = mapped_column(String(8))
    shortcuts: Mapped[bool]
    retention: Mapped[float]
    daily_cap: Mapped[int]


class KnownBrowser(Base):
    """A browser that has signed in to an account before, by the hash of a secret in its cookie.

    It says nothing about who sits there; it only keeps strangers from locking the owner out (see `brakes`).
    """

    __tablename__ = "known_browsers"

    secret_hash: Mapped[str] = mapped_column(String(64), primary_key=True)
    user_id: Mapped[str] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)
    created_at: Mapped[datetime]


class PasswordReset(Base):
    """A letter that lets its reader choose a new password, once and soon. The secret is in the letter alone."""

    __tablename__ = "password_resets"

    token_hash: Mapped[str] = mapped_column(String(64), primary_key=True)
    user_id: Mapped[str] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)
    created_at: Mapped[datetime]
    expires_at: Mapped[datetime]
