"""The progress page, and the button that says "I have read this"."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated

from fastapi import APIRouter, Form, Request
from fastapi.responses import RedirectResponse, Response
from sqlalchemy.orm import Session

from app.accounts.routes import SignedIn
from app.course.models import Item, Kind, Link
from app.course.store import view_of
from app.db import Reading, Writing
from app.errors import NotFound
from app.progress import service
from app.progress.pages import Score
from app.progress.service import Standings
from app.security import SAFE_METHODS, Viewer, own_path
from app.templating import render

router = APIRouter(include_in_schema=False)

# Passing is the submissions' business, and they stand above us: `main` puts their functions into `app.state`.
StandingsOf = Callable[[Session, str], Standings]
ScoresOf = Callable[[Session, str], list[Score]]


@router.get("/progress")
def show(request: Request, viewer: SignedIn, session: Reading) -> Response:
    """What I have read and passed, by topic and by track."""
    scores: ScoresOf = request.app.state.scores
    known = standings(request, session, viewer)
    page = service.overview(view_of(request), request.app.state.drills, known, scores(session, viewer.id))
    return render(request, "progress/show.html", page)


@router.post("/progress/read")
def mark_read(
    request: Request,
    viewer: SignedIn,
    session: Writing,
    kind: Annotated[str, Form()] = "",
    id: Annotated[str, Form()] = "",
    next: Annotated[str, Form()] = "/progress",
) -> Response:
    """Keep that I have read a card, a question or the text of a track; its prompts are reviewed from now on."""
    view = view_of(request)
    shelves = {Kind.CARD.value: view.cards, Kind.QUESTION.value: view.questions, Kind.TRACK.value: view.tracks}
    shelf: Mapping[str, Item] = shelves.get(kind, {})
    if id not in shelf:
        raise NotFound("item")
    service.mark_read(session, viewer.id, Link(Kind(kind), id))
    return RedirectResponse(own_path(next), 303)


def standings(request: Request, session: Session, viewer: Viewer | None) -> Standings:
    """How far the viewer is; nobody has read or passed anything.

    The frame of the page has asked already. A request that changes something asks again in its own transaction.
    """
    if viewer is None:
        return Standings()
    if request.method in SAFE_METHODS:
        known: Standings = request.state.standings
        return known
    gather: StandingsOf = request.app.state.standings
    return gather(session, viewer.id)
