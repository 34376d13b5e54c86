"""The pages of bookmarks and notes, and the buttons that other pages have for them."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Form, Request
from fastapi.responses import RedirectResponse, Response
from sqlalchemy.orm import Session

from app.accounts.routes import SignedIn
from app.course.models import Kind, Link
from app.course.present import stylesheets
from app.course.render import render_untrusted
from app.course.store import view_of
from app.db import Reading, Writing
from app.errors import InvalidForm, NotFound
from app.progress import kept
from app.progress.kept import StaleNote
from app.progress.models import Note
from app.progress.pages import BookmarkLine, BookmarksPage, KeptNote, NotePage, NotesPage
from app.progress.service import title_of
from app.security import Viewer, own_path
from app.templating import render

router = APIRouter(include_in_schema=False)


def existing(request: Request, kind: str, id: str) -> Link:
    """The item of an address, as far as the viewer may know of it."""
    link = Link(Kind(kind), id) if kind in {each.value for each in Kind} else None
    if link is None or title_of(link, view_of(request), request.app.state.drills) is None:
        raise NotFound("item")
    return link


Existing = Annotated[Link, Depends(existing)]


@router.get("/bookmarks")
def bookmarks(request: Request, viewer: SignedIn, session: Reading) -> Response:
    """What I marked, by kind."""
    found = []
    for link, moment in kept.bookmarks_of(session, viewer.id):
        title = title_of(link, view_of(request), request.app.state.drills)
        if title is not None:
            found.append(BookmarkLine(link.kind.value, link.id, title, link.href, moment))
    return render(request, "progress/bookmarks.html", BookmarksPage(tuple(found)))


@router.post("/bookmarks")
def bookmark(
    request: Request,
    viewer: SignedIn,
    session: Writing,
    kind: Annotated[str, Form()] = "",
    id: Annotated[str, Form()] = "",
    on: Annotated[str, Form()] = "",
    next: Annotated[str, Form()] = "/bookmarks",
) -> Response:
    """Mark an item, or take the mark away."""
    kept.set_bookmark(session, viewer.id, existing(request, kind, id), on == "yes")
    return RedirectResponse(own_path(next), 303)


@router.get("/notes")
def notes(request: Request, viewer: SignedIn, session: Reading) -> Response:
    """All my notes, those saved last first. One whose item is gone is still mine, so it is still here."""
    lines = tuple(_kept(request, note) for note in kept.notes_of(session, viewer.id))
    page = NotesPage(lines, stylesheets(view_of(request), *(line.html for line in lines)))
    return render(request, "progress/notes.html", page)


@router.get("/notes/{kind}/{id}")
def note(request: Request, viewer: SignedIn, session: Reading, kind: str, id: str) -> Response:
    """My note on an item, to read and to change."""
    link, row = _mine(request, session, viewer, kind, id)
    page = _page(request, link, row.text if row else "", row.version if row else 0)
    return render(request, "progress/note.html", page)


@router.post("/notes/{kind}/{id}")
def save(
    request: Request,
    viewer: SignedIn,
    session: Writing,
    kind: str,
    id: str,
    text: Annotated[str, Form()] = "",
    version: Annotated[int, Form(ge=0, le=2**31 - 1)] = 0,
) -> Response:
    """Keep a note; when it was changed elsewhere meanwhile, show both and keep neither silently."""
    link, _ = _mine(request, session, viewer, kind, id)
    try:
        kept.save_note(session, viewer.id, link, text, version)
    except InvalidForm as error:
        page = _page(request, link, text, version, problems=error.problems)
        return render(request, "progress/note.html", page, status=error.status)
    except StaleNote as error:
        other = error.saved.text if error.saved else ""
        page = _page(request, link, error.typed, error.saved.version if error.saved else 0, other=other)
        return render(request, "progress/note.html", page, status=error.status)
    return RedirectResponse(link.href if text.strip() and _title(request, link) else "/notes", 303)


def _mine(request: Request, session: Session, viewer: Viewer, kind: str, id: str) -> tuple[Link, Note | None]:
    """The item and my note on it. My note opens its item's page of notes even when the item is gone."""
    if kind in {each.value for each in Kind}:
        row = kept.note_on(session, viewer.id, Link(Kind(kind), id))
        if row is not None:
            return Link(Kind(kind), id), row
    return existing(request, kind, id), None


def _page(
    request: Request,
    link: Link,
    text: str,
    version: int,
    other: str | None = None,
    problems: dict[str, str] | None = None,
) -> NotePage:
    shown = render_untrusted(text)
    return NotePage(
        kind=link.kind.value,
        id=link.id,
        title=_title(request, link) or link.id,
        href=link.href if _title(request, link) else "",
        text=text,
        version=version,
        shown=shown,
        other=other,
        problems=problems or {},
        most=kept.NOTE_MOST,
        stylesheets=stylesheets(view_of(request), shown),
    )


def _kept(request: Request, row: Note) -> KeptNote:
    link = Link(Kind(row.kind), row.item)
    title = _title(request, link)
    return KeptNote(
        kind=row.kind,
        title=title or row.item,
        href=link.href if title else "",
        edit=f"/notes/{row.kind}/{row.item}",
        html=render_untrusted(row.text),
        saved_at=row.saved_at,
    )


def _title(request: Request, link: Link) -> str | None:
    return title_of(link, view_of(request), request.app.state.drills)
