"""Pages out of typed contexts: one function, `render`, that every feature calls.

A template sees its context as `page`, the frame round every page as `site`, and the helpers of `_environment`.
An unknown name is an error, never an empty string.

Reading order: `render` → `Site` → the helpers → the static files → the theme.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

from fastapi import APIRouter, Form, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer
from starlette.staticfiles import StaticFiles

from app.security import own_path

if TYPE_CHECKING:
    from _typeshed import DataclassInstance
    from starlette.types import Scope

HERE = Path(__file__).parent
TEMPLATES = HERE / "templates"
STATIC = HERE / "static"

Theme = Literal["auto", "light", "dark"]
THEMES: tuple[Theme, ...] = ("auto", "light", "dark")
THEME_COOKIE = "theme"
A_YEAR = 365 * 24 * 3600
A_WEEK = 7 * 24 * 3600


class Viewer(Protocol):
    """Who is looking, as far as the frame of a page asks; `app.security` has the whole of it."""

    @property
    def name(self) -> str: ...

    @property
    def role(self) -> str: ...


@dataclass(frozen=True)
class Site:
    """The frame round every page. `banners` are sentences shown above it, such as that grading is paused."""

    viewer: Viewer | None
    theme: Theme
    path: str
    origin: str = ""  # of absolute addresses, such as https://learn.example.org
    banners: tuple[str, ...] = ()
    shortcuts: bool = True  # whether single keys do something; scripts read it from the root element
    bookmarked: frozenset[str] = frozenset()  # what this reader marked, as "card:online-softmax"
    noted: frozenset[str] = frozenset()  # what they have a note on, in the same form


def render(
    request: Request,
    name: str,
    context: DataclassInstance,
    status: int = 200,
    headers: Mapping[str, str] | None = None,
) -> HTMLResponse:
    """The page `name` (a path below `app/templates`), which sees `context` as `page`.

    Raises `jinja2.UndefinedError` when the template asks for what the context lacks. Lone surrogates, which UTF-8
    cannot carry, come out as question marks and NUL as U+FFFD, so that no text at all can break a page.
    """
    html = _environment().get_template(name).render(page=context, site=site_of(request))
    response = HTMLResponse(html.replace("\0", "\ufffd").encode("utf-8", "replace"), status, dict(headers or {}))
    response.headers.setdefault("Vary", "Cookie")
    return response


def fragment(name: str, context: DataclassInstance) -> str:
    """The HTML of the fragment `name` alone, for a live stream. A fragment knows nothing of the frame."""
    html = _environment().get_template(name).render(page=context)
    return html.encode("utf-8", "replace").decode("utf-8")


def site_of(request: Request) -> Site:
    """The frame of the page that answers `request`. An unknown theme in the cookie counts as `auto`."""
    return Site(
        viewer=getattr(request.state, "viewer", None),
        theme=_theme(request.cookies.get(THEME_COOKIE, "auto")),
        path=own_path(request.url.path),
        origin=origin_of(request),
        banners=tuple(getattr(request.state, "banners", ())),
        shortcuts=getattr(request.state, "shortcuts", True),
        bookmarked=getattr(request.state, "bookmarked", frozenset()),
        noted=getattr(request.state, "noted", frozenset()),
    )


def origin_of(request: Request) -> str:
    """The configured public origin, or the one that the request came to where none is configured."""
    app = request.scope.get("app")
    settings = getattr(app and app.state, "settings", None)
    return getattr(settings, "public_origin", "") or f"{request.url.scheme}://{request.url.netloc}"


def _theme(text: str) -> Theme:
    return next((theme for theme in THEMES if theme == text), "auto")


# --- helpers that templates call ------------------------------------------------------------------


def when(moment: datetime) -> Markup:
    """A moment as a `<time>`: exact in its attributes, short in its text. Naive moments are read as UTC."""
    moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    return Markup('<time datetime="{}" title="{}">{}</time>').format(
        moment.isoformat(timespec="seconds"), moment.strftime("%Y-%m-%d %H:%M:%S UTC"), _short(moment)
    )


def ahead(moment: datetime) -> Markup:
    """A moment that is still to come as a `<time>`: "in 8 min", "in 3 days"."""
    moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    minutes = max(0, math.ceil((moment - datetime.now(UTC)).total_seconds() / 60))
    days = round(minutes / 1440)
    text = (
        "now"
        if minutes == 0
        else f"in {minutes} min"
        if minutes < 60
        else f"in {round(minutes / 60)} h"
        if minutes < 1440
        else "in a day"
        if days == 1
        else f"in {days} days"
        if days < 60
        else moment.strftime("on %-d %b %Y")
    )
    return Markup('<time datetime="{}">{}</time>').format(moment.isoformat(timespec="seconds"), text)


def _short(moment: datetime) -> str:
    seconds = (datetime.now(UTC) - moment).total_seconds()
    if 0 <= seconds < 60:
        return "just now"
    if 0 <= seconds < 3600:
        return f"{int(seconds // 60)} min ago"
    if 0 <= seconds < 24 * 3600:
        return f"{int(seconds // 3600)} h ago"
    return moment.strftime("%-d %b %Y")


def size(count: int | float) -> str:
    """Bytes in binary units, to three figures: 1536 → "1.5 KiB"."""
    amount = float(count)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(amount) < 1024 or unit == "GiB":
            break
        amount /= 1024
    return f"{amount:.0f} {unit}" if unit == "B" or amount >= 100 else f"{amount:.3g} {unit}"


def duration(seconds: float) -> str:
    """Seconds for reading: 0.0421 → "42 ms"."""
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.2f} s" if seconds < 60 else f"{seconds:.0f} s"


def figure(value: float | None) -> str:
    """An error in units of tolerance, to three figures; what could not be computed is a NaN."""
    if value is None:
        return "NaN"
    if 0 < value < 0.01:
        return "< 0.01"
    if value < 1e5:
        return f"{value:,.0f}" if value == 0 or value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"
    mantissa, power = f"{value:.1e}".split("e")
    return f"{mantissa} × 10{str(int(power)).translate(_RAISED)}"


_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def plural(count: int, one: str, many: str = "") -> str:
    """A count with its noun: 1 case, 3 cases."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def first_upper(text: str) -> str:
    """A clause as the beginning of a sentence."""
    return text[:1].upper() + text[1:]


def log10(value: float) -> float:
    """The logarithm that a plot's axis needs. Raises `ValueError` for a value that is not positive."""
    return math.log10(value)


def anchor(text: str, prefix: str) -> str:
    """A name as the id of an element: letters and digits of ASCII, everything else a hyphen."""
    return f"{prefix}-{re.sub(r'[^A-Za-z0-9]+', '-', text).strip('-').lower()}"


def visible(text: str) -> str:
    """A learner's text with control and direction characters made visible, so that none acts on the page."""
    return text.translate(_pictures())


@cache
def _pictures() -> dict[int, str]:
    shown = {code: chr(0x2400 + code) for code in range(32) if code not in (9, 10)} | {13: "", 127: "\u2421"}
    directions = [0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)]
    return shown | {code: f"⟨U+{code:04X}⟩" for code in directions}


@lru_cache(maxsize=64)
def code_lines(source: str) -> tuple[Markup, ...]:
    """The lines of a Python file, coloured; as many lines as an editor would number."""
    formatter = HtmlFormatter(nowrap=True)
    coloured = highlight(visible(source), PythonLexer(stripnl=False, ensurenl=True), formatter)
    return tuple(Markup(line) for line in coloured.rstrip("\n").split("\n"))  # noqa: S704 - pygments escapes its input


# --- static files ---------------------------------------------------------------------------------


def asset(path: str) -> str:
    """The address of a static file, with its contents' hash so that it may be kept for ever."""
    return f"/static/{path}?v={_digest(path, (STATIC / path).stat().st_mtime_ns)}"


@lru_cache(maxsize=256)
def _digest(path: str, _changed: int) -> str:
    return hashlib.sha256((STATIC / path).read_bytes()).hexdigest()[:12]


class Static(StaticFiles):
    """`app/static`, kept for a year when asked for by hash, faces a week, otherwise checked on each use."""

    def __init__(self) -> None:
        super().__init__(directory=STATIC)

    async def get_response(self, path: str, scope: Scope) -> Response:
        response = await super().get_response(path, scope)
        hashed = scope.get("query_string", b"").startswith(b"v=")
        kept = f"public, max-age={A_WEEK}" if path.endswith(".woff2") else "no-cache"
        response.headers["Cache-Control"] = f"public, max-age={A_YEAR}, immutable" if hashed else kept
        return response


# --- the theme, which lives in a cookie so that the server can draw the first page in it ----------

router = APIRouter()


@router.post("/theme", include_in_schema=False)
def choose_theme(request: Request, theme: str = Form("auto"), back: str = Form("/")) -> Response:
    """Keep the theme for a year and go back to the page it was chosen on; never to another site."""
    response = RedirectResponse(own_path(back), 303)
    keep_theme(response, theme, request.url.scheme == "https")
    return response


def keep_theme(response: Response, theme: str, secure: bool) -> None:
    """Let the browser that gets `response` keep a theme; `auto` in place of an unknown one."""
    response.set_cookie(THEME_COOKIE, _theme(theme), max_age=A_YEAR, samesite="lax", secure=secure)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        undefined=StrictUndefined,
        auto_reload=False,  # as the code: a page never comes from a template newer than what fills it
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    helpers = (when, ahead, size, duration, figure, plural, first_upper, log10, anchor, visible, code_lines)
    environment.filters.update({helper.__name__: helper for helper in helpers})
    environment.globals.update(asset=asset, escape=escape, THEMES=THEMES)
    return environment
