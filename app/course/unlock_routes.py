"""The page on which a code is entered, and what is unlocked already."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Form, Request, Response
from fastapi.responses import RedirectResponse
from sqlalchemy.orm import Session

from app.accounts.brakes import address_of
from app.accounts.routes import SignedIn
from app.course import unlocks
from app.course.pages import UnlockedLine, UnlockPage
from app.course.store import current
from app.course.unlock_tables import Scope, Unlock
from app.db import Reading, Writing, database_of
from app.errors import InvalidForm
from app.security import spend
from app.templating import render

router = APIRouter(include_in_schema=False)

TRIES = 10  # codes one account may try in ten minutes; one address, three times as many
SECONDS = 600


@router.get("/unlock")
def show(request: Request, viewer: SignedIn, session: Reading, opened: str = "") -> Response:
    """The form for a code, and what was opened to me."""
    return render(request, "course/unlock.html", _page(request, session, viewer.id, opened=opened))


@router.post("/unlock")
def redeem(request: Request, viewer: SignedIn, session: Writing, code: Annotated[str, Form()] = "") -> Response:
    """Enter a code. Guessing is hopeless at 80 bits; the limits keep it from being a load."""
    database = database_of(request)
    spend(database, f"unlock:address:{address_of(request)}", 3 * TRIES, SECONDS)
    spend(database, f"unlock:user:{viewer.id}", TRIES, SECONDS)
    try:
        what = unlocks.redeem(session, viewer.id, code[:200])
    except InvalidForm as error:
        page = _page(request, session, viewer.id, code=code[:64], problems=error.problems)
        return render(request, "course/unlock.html", page, status=error.status)
    return RedirectResponse(f"/unlock?opened={what}", 303)


def _page(
    request: Request,
    session: Session,
    user: str,
    code: str = "",
    opened: str = "",
    problems: dict[str, str] | None = None,
) -> UnlockPage:
    snapshot = current(request)
    lines = tuple(_line(row, unlocks.title(_target(row), snapshot)) for row in unlocks.unlocks_of(session, user))
    just = next((line for line in lines if line.target == opened), None)
    return UnlockPage(code=code, problems=problems or {}, unlocked=lines, just_opened=just)


def _target(row: Unlock) -> unlocks.Target:
    return unlocks.Target(Scope(row.scope), row.item)


def _line(row: Unlock, name: str) -> UnlockedLine:
    what = _target(row)
    return UnlockedLine(target=str(what), title=name, href=what.href, source=row.source, at=row.at)
