"""Accounts: making one, proving whose it is, and remembering the browser that did.

Passwords cost about 170 ms to hash or check, on purpose. These functions are called from sync endpoints, which run
in threads, and never inside a write transaction, which on SQLite would make every other writer wait.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from datetime import timedelta
from functools import cache

from pwdlib import PasswordHash
from pwdlib.hashers.argon2 import Argon2Hasher
from sqlalchemy import delete, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from app.accounts.audit import note
from app.accounts.models import Role, SignIn, User
from app.db import Database, new_id, now
from app.errors import InvalidForm
from app.security import Viewer

PASSWORD_LEAST = 8
PASSWORD_MOST = 1024
_USERNAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_.-]{1,30})[A-Za-z0-9]")
_EMAIL = re.compile(r"[^@\s\x00-\x1f\x7f]{1,64}@[^@\s\x00-\x1f\x7f]+\.[^@\s\x00-\x1f\x7f]{2,}")
WRONG = "That name and password do not go together."


def sign_up(database: Database, username: str, password: str, email: str, role: Role = Role.LEARNER) -> User:
    """A new account. Raises `InvalidForm` with every problem at once."""
    username, email = username.strip(), email.strip()
    problems = _problems(username, password, email)
    if problems:
        raise InvalidForm(problems)
    user = User(
        id=new_id(),
        username=username,
        username_key=username.lower(),
        password_hash=_hasher().hash(password),
        email=email or None,
        role=role,
        created_at=now(),
    )
    try:
        with database.write() as session:
            session.add(user)
            if role != Role.LEARNER:
                session.flush()
                note(session, None, "make account", username, {"role": role})
    except IntegrityError as error:
        raise InvalidForm({"username": "That name is taken. Choose another one."}) from error
    return user


def _problems(username: str, password: str, email: str) -> dict[str, str]:
    problems = {}
    if not _USERNAME.fullmatch(username):
        problems["username"] = (
            "A name has 3 to 32 letters, digits, dots, dashes or underscores, and a letter or digit at each end."
        )
    problem = password_problem(password)
    if problem:
        problems["password"] = problem
    problem = email_problem(email)
    if problem:
        problems["email"] = problem
    return problems


def email_problem(email: str) -> str:
    """What is wrong with an e-mail address, or nothing. An empty one is none, and may be."""
    if email and (len(email) > 254 or not _printable(email) or not _EMAIL.fullmatch(email)):
        return "That does not look like an e-mail address. It may stay empty."
    return ""


def password_problem(password: str) -> str:
    """What is wrong with a new password, or nothing."""
    if len(password) < PASSWORD_LEAST:
        return f"A password has at least {PASSWORD_LEAST} characters."
    if len(password) > PASSWORD_MOST:
        return f"A password has at most {PASSWORD_MOST} characters."
    if not _encodable(password):
        return "That password has characters that cannot be typed again. Choose another one."
    return ""


def check(session: Session, username: str, password: str) -> User:
    """The user whose name and password these are.

    Raises `InvalidForm` with the same sentence, and after the same time, whether the name or the password is wrong.
    The session gives its connection back before the password is hashed: requests that hold one and wait for another
    to write with would together wait for ever.
    """
    user = session.scalar(select(User).where(User.username_key == _key(username)))
    session.close()
    known = user.password_hash if user is not None else _nobody()
    right = len(password) <= PASSWORD_MOST and _encodable(password) and _hasher().verify(password, known)
    if user is None or not right:
        raise InvalidForm({"form": WRONG})
    return user


def begin(session: Session, user: User, old_secret: str, days: int) -> str:
    """Sign a browser in: the secret for its cookie. Always a new one; the browser's old one dies."""
    end(session, old_secret)
    moment = now()
    session.execute(delete(SignIn).where(SignIn.user_id == user.id, SignIn.expires_at <= moment))
    secret = secrets.token_urlsafe(32)
    session.add(
        SignIn(
            secret_hash=_hash(secret),
            user_id=user.id,
            created_at=moment,
            expires_at=moment + timedelta(days=days),
        )
    )
    return secret


def end(session: Session, secret: str) -> None:
    """Sign a browser out, for good: a copy of its cookie is worth nothing afterwards."""
    session.execute(delete(SignIn).where(SignIn.secret_hash == _hash(secret)))


def viewer_of(session: Session, secret: str) -> Viewer | None:
    """Who is signed in with this secret, or ``None``."""
    user = session.scalar(
        select(User)
        .join(SignIn, SignIn.user_id == User.id)
        .where(SignIn.secret_hash == _hash(secret), SignIn.expires_at > now())
    )
    return None if user is None else as_viewer(user)


def as_viewer(user: User) -> Viewer:
    """An account as whoever looks or acts."""
    return Viewer(id=user.id, name=user.username, role=user.role)


def find(session: Session, username: str) -> User | None:
    """The user of that name, in any case of its letters."""
    return session.scalar(select(User).where(User.username_key == _key(username)))


def change_role(session: Session, user: User, role: Role) -> None:
    """Give `user` another role. All its browsers are signed out, so that no old page keeps the old rights."""
    note(session, None, "change role", user.username, {"before": user.role, "role": role})
    user.role = role
    session.execute(delete(SignIn).where(SignIn.user_id == user.id))


def change_password(session: Session, user: User, password_hash: str) -> None:
    """Set a password from its hash (`hash_password`) and sign all browsers out."""
    user.password_hash = password_hash
    session.execute(delete(SignIn).where(SignIn.user_id == user.id))


def hash_password(password: str) -> str:
    """The hash to keep of a new password. Raises `InvalidForm` when it may not be one."""
    problem = password_problem(password)
    if problem:
        raise InvalidForm({"password": problem})
    return _hasher().hash(password)


def _key(username: str) -> str:
    return username.strip().lower() if _USERNAME.fullmatch(username.strip()) else ""


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()


def _encodable(text: str) -> bool:
    return not any(0xD800 <= ord(character) <= 0xDFFF for character in text)


def _printable(text: str) -> bool:
    return text.isprintable() and _encodable(text)


@cache
def _hasher() -> PasswordHash:
    return PasswordHash((Argon2Hasher(),))


@cache
def _nobody() -> str:
    """A hash that no password has, so that checking an unknown name takes as long as a known one."""
    return _hasher().hash(secrets.token_urlsafe(32))
