"""What stands between the network and the features: who may cause a change, how much may be sent, how often.

Reading order: `Viewer` → `own_path` → `spend` (rate limits) → `StrictHeaders` and `Guard`, the middleware.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable, MutableMapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

from sqlalchemy import String, delete, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Mapped, mapped_column
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.db import Base, Database, now
from app.errors import AppError, CrossSite, NotFound, TooLarge, TooMany
from app.settings import Settings

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


@dataclass(frozen=True)
class Viewer:
    """Who is looking, as far as every page needs to know. Nobody is ``None``."""

    id: str
    name: str
    role: str

    @property
    def is_admin(self) -> bool:
        """Whether this is an administrator."""
        return self.role == "admin"


def own_path(path: str) -> str:
    """`path` when it leads to a page of this site, else the home page: for redirects that a request asked for."""
    ours = path.isprintable() and path.startswith("/") and not path.startswith("//") and "\\" not in path
    return path if ours and not urlsplit(path).netloc else "/"


def plain_text(text: str) -> str:
    """What somebody typed as text that every database keeps: lines end in LF, no NUL, no lone surrogates."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "\ufffd")
    return "".join("\ufffd" if 0xD800 <= ord(character) <= 0xDFFF else character for character in lines)


class RateWindow(Base):
    """How often something was tried since `since`."""

    __tablename__ = "rate_windows"

    key: Mapped[str] = mapped_column(String(160), primary_key=True)
    since: Mapped[datetime] = mapped_column(index=True)
    tries: Mapped[int]


def spend(database: Database, key: str, limit: int, seconds: int) -> None:
    """Count one try of `key` and raise `TooMany` when more than `limit` fall into a window of `seconds`.

    It commits by itself: a try that fails must count, and the failure undoes the request's own transaction.
    """
    try:
        row = _counted(database, key[:160], seconds)
    except IntegrityError:  # on PostgreSQL, when two first tries meet; the row is there now
        row = _counted(database, key[:160], seconds)
    if row.tries > limit:
        end = row.since + timedelta(seconds=seconds)
        raise TooMany(max(1, math.ceil((end - now()).total_seconds())))


def _counted(database: Database, key: str, seconds: int) -> RateWindow:
    moment = now()
    with database.write() as session:
        row = session.scalar(select(RateWindow).where(RateWindow.key == key).with_for_update())
        if row is None:
            row = RateWindow(key=key, since=moment, tries=0)
            session.add(row)
        if row.since <= moment - timedelta(seconds=seconds):
            row.since, row.tries = moment, 0
        row.tries += 1
    return row


def forget_windows(database: Database) -> None:
    """Delete the windows that ended a day ago."""
    with database.write() as session:
        session.execute(delete(RateWindow).where(RateWindow.since < now() - timedelta(days=1)))


Refuse = Callable[[Scope, AppError], Response]


class StrictHeaders:
    """The outermost middleware: every answer, that to a broken page too, tells the browser what it may not do."""

    def __init__(self, app: ASGIApp, secure: bool) -> None:
        self.app = app
        self._secure = secure

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        state: MutableMapping[str, Any] = scope.setdefault("state", {})
        state["nonce"] = secrets.token_urlsafe(16)

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _headers(state["nonce"], self._secure):
                    headers.setdefault(name, value)
            await send(message)

        await self.app(scope, receive, sending)


class Heads:
    """The middleware that answers HEAD as GET would be answered, without the body. Streams have no head."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "HEAD" or scope["path"].endswith("/events"):
            await self.app(scope, receive, send)
            return

        async def without_body(message: Message) -> None:
            if message["type"] == "http.response.body":
                message = {**message, "body": b""}
            await send(message)

        scope["method"] = "GET"
        try:
            await self.app(scope, receive, without_body)
        finally:
            scope["method"] = "HEAD"


class Guard:
    """The middleware before the app: bodies within the limit, and changes from our own pages only."""

    def __init__(self, app: ASGIApp, settings: Settings, refuse: Refuse) -> None:
        self.app = app
        self._settings = settings
        self._refuse = refuse

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        try:
            check_address(scope)
            if scope["method"] not in SAFE_METHODS:
                check_site(scope, self._settings)
                receive = await _whole_body(scope, receive, _limit(scope, self._settings))
        except AppError as error:
            await self._refuse(scope, error)(scope, receive, send)
            return
        await self.app(scope, receive, send)


def check_address(scope: Scope) -> None:
    """Raise `NotFound` for an address with a NUL: nothing of ours has one, and PostgreSQL refuses to look."""
    if "\0" in scope["path"] or b"%00" in scope["query_string"]:
        raise NotFound


def check_site(scope: Scope, settings: Settings) -> None:
    """Raise `CrossSite` for a state change that a page of another site asked for.

    Browsers say where a request comes from in Sec-Fetch-Site, older ones in Origin, and no page can forge either. A
    client that sends neither is no browser, carries nobody's cookies by accident, and passes.
    """
    headers = Headers(scope=scope)
    site = headers.get("sec-fetch-site")
    if site is not None:
        if site in ("same-origin", "none"):
            return
        raise _cross_site()
    origin = headers.get("origin")
    if origin is None:
        return
    ours = settings.public_origin or f"{scope.get('scheme', 'http')}://{headers.get('host', '')}"
    if origin.lower() != ours.lower():
        raise _cross_site()


def _cross_site() -> CrossSite:
    return CrossSite(
        "Another site asked for this change, so nothing was changed.",
        "Open the page here and try again. Operators: the setting TILEWRIGHT_PUBLIC_ORIGIN must be this address.",
    )


def _limit(scope: Scope, settings: Settings) -> int:
    """How many bytes a body may have: forms with files have a limit of their own."""
    uploads = scope["path"].startswith("/tracks/") and scope["path"].endswith("/capstone")
    return settings.upload_limit if uploads else settings.body_limit


async def _whole_body(scope: Scope, receive: Receive, limit: int) -> Receive:
    """Read the body before the app does; raises `TooLarge` at the first byte over the limit."""
    announced = Headers(scope=scope).get("content-length", "")
    if announced.isdigit() and int(announced) > limit:
        raise TooLarge(limit)
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] != "http.request":
            break
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > limit:
            raise TooLarge(limit)
        if not message.get("more_body"):
            break
    whole: list[Message] = [{"type": "http.request", "body": b"".join(parts), "more_body": False}]

    async def replay() -> Message:
        return whole.pop() if whole else await receive()

    return replay


def _headers(nonce: str, secure: bool) -> list[tuple[str, str]]:
    policy = {
        "default-src": "'none'",
        "script-src": "'self'",
        "style-src": f"'self' 'nonce-{nonce}'",  # the editor adds its style sheets at run time
        "img-src": "'self' data:",
        "font-src": "'self'",
        "connect-src": "'self'",
        "form-action": "'self'",
        "base-uri": "'none'",
        "frame-ancestors": "'none'",
    }
    headers = [
        ("Content-Security-Policy", "; ".join(f"{name} {value}" for name, value in policy.items())),
        ("X-Content-Type-Options", "nosniff"),
        ("Referrer-Policy", "same-origin"),
        ("Cross-Origin-Opener-Policy", "same-origin"),
        ("Cross-Origin-Resource-Policy", "same-origin"),
        ("Permissions-Policy", "camera=(), geolocation=(), microphone=()"),
        ("Cache-Control", "private, no-cache"),
    ]
    return [*headers, ("Strict-Transport-Security", "max-age=31536000")] if secure else headers
