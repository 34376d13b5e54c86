"""Visitors: people without an account, who may try a drill within strict limits. What they ran is soon forgotten.

A random cookie says whose a trial is, and only its hash is in the database. It names nobody; nothing else uses it.
"""

from __future__ import annotations

import hashlib
import secrets

from fastapi import Request
from fastapi.responses import Response

from app.accounts.brakes import address_of
from app.db import database_of
from app.errors import NotSignedIn
from app.security import spend
from app.settings import Settings
from app.submissions.service import KEEP_VISITORS

COOKIE = "tilewright_visitor"


def visitor_of(request: Request) -> str | None:
    """The visitor behind a request, or ``None`` where nobody has tried anything."""
    secret = request.cookies.get(COOKIE, "")
    return hashed(secret) if secret else None


def admit(request: Request, settings: Settings) -> str:
    """The secret of the visitor who wants to run something: the cookie's, or a new one.

    Raises `NotSignedIn` where visitors may run nothing, `TooMany` when their address ran enough for now.
    """
    if settings.visitor_runs == 0:
        raise NotSignedIn
    spend(database_of(request), f"visitor-run:address:{address_of(request)}", settings.visitor_runs, 3600)
    return request.cookies.get(COOKIE, "") or secrets.token_urlsafe(32)


def remember(response: Response, secret: str, settings: Settings) -> None:
    """Keep the visitor's cookie for as long as their trials are kept."""
    age = int(KEEP_VISITORS.total_seconds())
    response.set_cookie(COOKIE, secret, max_age=age, secure=settings.secure, httponly=True, samesite="lax")


def hashed(secret: str) -> str:
    """What the database knows of a visitor's cookie."""
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()
