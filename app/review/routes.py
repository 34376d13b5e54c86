"""The review of the day: one thing after another, answered by key or by button, each page complete by itself."""

from __future__ import annotations

import secrets
from typing import Annotated

from fastapi import APIRouter, Form, Request
from fastapi.responses import RedirectResponse, Response
from sqlalchemy.orm import Session

from app.accounts.preferences import Preferences, preferences_of
from app.accounts.routes import SignedIn
from app.course.store import view_of
from app.db import Reading, Writing, now
from app.errors import InvalidForm, NotFound
from app.progress.routes import standings
from app.review import present, service
from app.review.models import Action
from app.review.schedule import Rating
from app.review.service import Key, Known
from app.security import Viewer
from app.templating import render

router = APIRouter(prefix="/review", include_in_schema=False)

Field = Annotated[str, Form()]


@router.get("")
def show(request: Request, viewer: SignedIn, session: Reading, answer: str = "") -> Response:
    """What is due now; with `answer`, the answer of the prompt that it names and the four grades."""
    found, chosen = _known(request, session, viewer)
    at = now()
    day = service.today(found, chosen, at)
    opened = Key.read(answer) if answer else None
    if opened is not None and opened not in found.items:
        raise NotFound("review")
    last = service.last_of_day(session, viewer.id, at, chosen.zone)
    just = present.just_done(session, view_of(request), last, at)
    page = present.review_page(view_of(request), found, day, chosen, at, opened, just, _token())
    return render(request, "review/show.html", page)


@router.get("/items")
def items(request: Request, viewer: SignedIn, session: Reading) -> Response:
    """Everything that is reviewed, with what is known of it; where what was suspended is taken up again."""
    found, _ = _known(request, session, viewer)
    return render(request, "review/items.html", present.items_page(view_of(request), found, now(), _token()))


@router.post("/grade")
def grade(
    request: Request, viewer: SignedIn, session: Writing, key: Field = "", rating: Field = "", token: Field = ""
) -> Response:
    """Keep how well a prompt was recalled, and go on. The same token again changes nothing."""
    found, chosen = _known(request, session, viewer)
    one = _existing(found, key)
    if rating not in ("1", "2", "3", "4"):
        raise InvalidForm({"form": "A grade is one of 1 to 4."})
    service.grade(session, viewer.id, one, found.items[one], Rating(int(rating)), chosen.retention, token)
    return RedirectResponse("/review", 303)


@router.post("/skip")
def skip(request: Request, viewer: SignedIn, session: Writing, key: Field = "", token: Field = "") -> Response:
    """Not today."""
    _note(request, session, viewer, key, token, Action.SKIP)
    return RedirectResponse("/review", 303)


@router.post("/suspend")
def suspend(
    request: Request, viewer: SignedIn, session: Writing, key: Field = "", token: Field = "", back: Field = ""
) -> Response:
    """Never ask this again, until it is taken up again under all items."""
    _note(request, session, viewer, key, token, Action.SUSPEND)
    return RedirectResponse("/review/items" if back == "items" else "/review", 303)


@router.post("/resume")
def resume(request: Request, viewer: SignedIn, session: Writing, key: Field = "", token: Field = "") -> Response:
    """Ask this again."""
    _note(request, session, viewer, key, token, Action.RESUME)
    return RedirectResponse("/review/items", 303)


@router.post("/undo")
def undo(request: Request, viewer: SignedIn, session: Writing, token: Field = "") -> Response:
    """Take back the last thing that was done today."""
    service.undo(session, viewer.id, token, preferences_of(session, viewer.id).zone)
    return RedirectResponse("/review", 303)


def due_today(request: Request, session: Session, viewer: Viewer) -> int:
    """How much is left to review today, for the home page."""
    found, chosen = _known(request, session, viewer)
    return len(service.today(found, chosen, now()).queue)


def _note(request: Request, session: Session, viewer: Viewer, key: str, token: str, action: Action) -> None:
    found, _ = _known(request, session, viewer)
    one = _existing(found, key)
    service.append(session, viewer.id, one, found.items[one], action, token)


def _known(request: Request, session: Session, viewer: Viewer) -> tuple[Known, Preferences]:
    chosen = preferences_of(session, viewer.id)
    facts = standings(request, session, viewer)
    return service.known(session, viewer.id, view_of(request), facts, chosen, now()), chosen


def _existing(found: Known, text: str) -> Key:
    key = Key.read(text)
    if key not in found.items:
        raise NotFound("review")
    return key


def _token() -> str:
    return secrets.token_urlsafe(16)
