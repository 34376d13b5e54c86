"""How often somebody may try to sign in, such that guessing is slow and nobody can lock an owner out.

A limit on the name alone lets anybody shut any account by guessing wrong on purpose. So what is limited is the name
*from one network*, and that network over all names. Against many networks there is a slower brake on the name as a
whole, which browsers that have signed in to that account before do not feel: they have a brake of their own. What
remains to whoever commands thousands of networks is to make the owner sign in from a known browser, or by a letter
that resets the password; and guesses stay as slow as the brake, 100 an hour.
"""

from __future__ import annotations

import hashlib
import ipaddress
import secrets

from fastapi import Request
from sqlalchemy import select
from sqlalchemy.orm import Session

from app.accounts.models import KnownBrowser, User
from app.db import Database, now
from app.security import spend

WINDOW = 300  # seconds of the limit for a name from one network
BRAKE = 100  # tries at one name from everywhere in an hour
KNOWN_COOKIE = "tilewright-known"
KNOWN_DAYS = 400  # the longest that browsers keep a cookie


def slow_down(database: Database, request: Request, username: str, tries: int) -> None:
    """Count one try to sign in as `username`. Raises `TooMany` when it is one too many."""
    network, name = address_of(request), key_of(username)
    spend(database, f"sign-in:address:{network}", 10 * tries, WINDOW)
    known = knows(database, request.cookies.get(KNOWN_COOKIE, ""), name)
    if known:
        spend(database, f"sign-in:known:{known}", tries, WINDOW)
        return
    spend(database, f"sign-in:name:{name}:{network}", tries, WINDOW)
    spend(database, f"sign-in:name:{name}", BRAKE, 3600)


def remember(session: Session, user: User, old_secret: str) -> str:
    """The secret by which a browser that has just signed in is known again: the one it has, if that is good."""
    held = session.get(KnownBrowser, _hash(old_secret)) if old_secret else None
    if held is not None and held.user_id == user.id:
        return old_secret
    secret = secrets.token_urlsafe(32)
    session.add(KnownBrowser(secret_hash=_hash(secret), user_id=user.id, created_at=now()))
    return secret


def knows(database: Database, secret: str, name: str) -> str:
    """The key of a browser that has signed in as `name` before; empty for any other."""
    if not secret:
        return ""
    with database.read() as session:
        found = session.scalar(
            select(KnownBrowser.secret_hash)
            .join(User, User.id == KnownBrowser.user_id)
            .where(KnownBrowser.secret_hash == _hash(secret), User.username_key == name)
        )
    return found or ""


def key_of(username: str) -> str:
    """A name as a part of a key: one for all ways to write it, without control characters, short."""
    return ascii(username.strip().lower()[:40])[1:-1]


def address_of(request: Request) -> str:
    """The network that a request comes from: an IPv4 address, or the /64 that one IPv6 customer has to himself."""
    host = request.client.host if request.client else ""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host[:64] or "unknown"
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is None:
        return str(ipaddress.ip_network((address, 64), strict=False))
    return str(getattr(address, "ipv4_mapped", None) or address)


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()
