"""The pages of the course. Each takes one snapshot, sees it through `view_of`, and fills one typed context."""

from __future__ import annotations

from collections.abc import Callable

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse, JSONResponse, PlainTextResponse, RedirectResponse
from sqlalchemy.orm import Session
from starlette.exceptions import HTTPException

from app.course import crawl
from app.course.access import View, visible_to
from app.course.models import Kind, Link
from app.course.pages import OwnAnswer
from app.course.present import (
    Reader,
    card_page,
    glossary_page,
    preview_of,
    question_page,
    search_page,
    tag_page,
    topic_page,
    track_page,
    tracks_page,
)
from app.course.search import search
from app.course.store import current, view_of
from app.db import database_of
from app.security import Viewer
from app.templating import fragment, origin_of, render

router = APIRouter(include_in_schema=False)

MOST_SUGGESTED = 8
AN_HOUR = "public, max-age=3600"
FOREVER = "public, max-age=31536000, immutable"


@router.get("/topics/{name}")
def topic(request: Request, name: str) -> Response:
    """A shelf of the course, in order."""
    reader = reader_of(request)
    if name not in reader.view.topics:
        raise HTTPException(404)
    return render(request, "course/topic.html", topic_page(reader, reader.view.topics[name]))


@router.get("/tags/{name}")
def tag(request: Request, name: str) -> Response:
    """Everything that carries a tag: questions, then the concepts behind them."""
    page = tag_page(reader_of(request), name)
    if not (page.questions or page.cards or page.tracks):
        raise HTTPException(404)
    return render(request, "course/tag.html", page)


@router.get("/cards/{name}")
def card(request: Request, name: str) -> Response:
    """A concept: front and back."""
    reader = reader_of(request)
    found = reader.view.cards.get(name)
    if found is None:
        return _renamed(reader.view, Link(Kind.CARD, name))
    return render(request, "course/card.html", card_page(reader, found))


@router.get("/questions/{name}")
def question(request: Request, name: str) -> Response:
    """A question; its answer when the policy lets this reader see it."""
    reader = reader_of(request)
    found = reader.view.questions.get(name)
    if found is None:
        return _renamed(reader.view, Link(Kind.QUESTION, name))
    page = question_page(reader, found, _own_answer(request, found.id))
    return render(request, "course/question.html", page)


def _own_answer(request: Request, question: str) -> OwnAnswer | None:
    """The reader's own answer. Answers stand above the course: `main` puts their function into `app.state`."""
    viewer: Viewer | None = getattr(request.state, "viewer", None)
    if viewer is None:
        return None
    find: Callable[[Session, str, str], OwnAnswer | None] = request.app.state.own_answer
    with database_of(request).read() as session:
        return find(session, viewer.id, question)


@router.get("/tracks")
def tracks(request: Request) -> Response:
    """All paths of study."""
    return render(request, "course/tracks.html", tracks_page(reader_of(request)))


@router.get("/tracks/{name}")
def track(request: Request, name: str) -> Response:
    """A path of study."""
    reader = reader_of(request)
    found = reader.view.tracks.get(name)
    if found is None:
        return _renamed(reader.view, Link(Kind.TRACK, name))
    return render(request, "course/track.html", track_page(reader, found))


@router.get("/glossary")
def glossary(request: Request) -> Response:
    """Every term, by name."""
    return render(request, "course/glossary.html", glossary_page(reader_of(request)))


@router.get("/search")
def search_everything(request: Request, q: str = "") -> Response:
    """Everything this reader may see that fits the query."""
    return render(request, "course/search.html", search_page(reader_of(request), q))


@router.get("/search/suggest")
def suggest(request: Request, q: str = "") -> Response:
    """The best few by title, while somebody types."""
    view = reader_of(request).view
    hits = search(view.snapshot.search, view, q, MOST_SUGGESTED)
    found = [{"shelf": hit.passage.shelf, "title": hit.passage.title, "href": hit.passage.page} for hit in hits]
    return JSONResponse(found, headers={"Cache-Control": "private, no-store"})


@router.get("/previews/{shelf}/{name}")
def preview(request: Request, shelf: str, name: str) -> Response:
    """What a link leads to, in a few lines, for a preview beside it."""
    found = preview_of(reader_of(request), shelf, name)
    if found is None:
        raise HTTPException(404)
    headers = {"Cache-Control": "private, max-age=300", "Vary": "Cookie"}
    return HTMLResponse(fragment("course/_preview.html", found), headers=headers)


@router.get("/sitemap.xml")
def sitemap(request: Request) -> Response:
    """Every address that is there for everybody."""
    return _xml(crawl.sitemap(visible_to(None, current(request)), origin_of(request)), "application/xml")


@router.get("/feed.xml")
def feed(request: Request) -> Response:
    """What is new."""
    return _xml(crawl.feed(visible_to(None, current(request)), origin_of(request)), "application/atom+xml")


@router.get("/robots.txt")
def robots(request: Request) -> Response:
    """What crawlers need not fetch."""
    return PlainTextResponse(crawl.robots(origin_of(request)), headers={"Cache-Control": AN_HOUR})


@router.get("/course/math-{digest}.css")
def math_css(request: Request, digest: str) -> Response:
    """The rules that formulas need in place of inline styles. Its address changes with its content."""
    snapshot = current(request)
    if digest != snapshot.math_digest:
        raise HTTPException(404)
    return Response(snapshot.math_css, media_type="text/css", headers={"Cache-Control": FOREVER})


def reader_of(request: Request) -> Reader:
    """The course as whoever asks may see it, and what they have done of it."""
    done = frozenset(_links(getattr(request.state, "read_items", ())))
    return Reader(view_of(request), done)


def _xml(body: bytes, kind: str) -> Response:
    return Response(body, media_type=kind, headers={"Cache-Control": AN_HOUR})


def _links(names: object) -> list[Link]:
    kinds = {kind.value: kind for kind in Kind}
    pairs = [str(name).partition(":") for name in names] if isinstance(names, frozenset | tuple | set) else []
    return [Link(kinds[kind], name) for kind, _, name in pairs if kind in kinds]


def _renamed(view: View, link: Link) -> Response:
    """A permanent redirect for an id that an item had before; otherwise there is nothing here."""
    now = view.snapshot.aliases.get(link)
    if now is None or view.item(now) is None:
        raise HTTPException(404)
    return RedirectResponse(now.href, status_code=301)
