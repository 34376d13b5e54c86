"""Drafts: saving them, their versions, and what differs between two texts of a drill."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Form, Request
from fastapi.responses import JSONResponse, RedirectResponse, Response
from sqlalchemy.orm import Session

from app.accounts.routes import SignedIn
from app.db import Reading, Writing
from app.errors import InvalidForm, NotFound
from app.practice import drafts, texts
from app.practice.diff import compare
from app.practice.models import Cause, DraftVersion
from app.practice.pages import DiffPage, DraftsPage, DraftVersionPage
from app.practice.service import draft_row
from app.submissions.handed import Handed
from app.submissions.routes import Refused, unix_lines
from app.templating import render
from grader.drill import Drill

INLINE = "inline"

router = APIRouter(include_in_schema=False)
Field = Annotated[str, Form()]


def drill_of(request: Request, drill_id: str) -> Drill:
    """The drill of the address. Raises `NotFound`."""
    drill: Drill | None = request.app.state.drills.get(drill_id)
    if drill is None:
        raise NotFound("drill")
    return drill


@router.post("/drills/{drill_id}/draft")
def save(
    request: Request,
    drill_id: str,
    viewer: SignedIn,
    session: Writing,
    source: Field = "",
    base: Annotated[int, Form(ge=0, lt=2**31)] = 0,
    auto: Field = "",
    lane: Field = "",
    token: Field = "",
) -> Response:
    """Keep a draft. Written on a version that is no longer the newest, it is put aside: 409, with both texts."""
    drill = drill_of(request, drill_id)
    text = unix_lines(source)
    problem = drafts.draft_problem(text, request.app.state.settings.source_limit)
    if problem:
        refusal = InvalidForm({"source": problem})
        raise refusal if _wants_json(request) else Refused(Handed(viewer.id, drill.id, lane, text, token), refusal)
    saved = drafts.save(session, viewer.id, drill.id, text, base, Cause.AUTO if auto else Cause.SAVED)
    if _wants_json(request):
        return _told(drill, saved)
    if saved.stale:
        page = _version_page(drill, saved.kept, saved.draft, inline=False, stale=True)
        return render(request, "practice/draft.html", page, status=409)
    return RedirectResponse(f"/drills/{drill.id}?saved={saved.kept.number}#editor", 303)


def _wants_json(request: Request) -> bool:
    return "application/json" in request.headers.get("accept", "")


def _told(drill: Drill, saved: drafts.Saved) -> Response:
    """What the editor needs to know after a save; after a stale one, what is there instead."""
    body: dict[str, Any] = {"version": saved.draft.number, "saved_at": saved.draft.saved_at.isoformat()}
    if saved.stale:
        body |= {
            "source": saved.draft.source,
            "aside": saved.kept.number,
            "compare": f"/drills/{drill.id}/drafts/{saved.kept.number}",
        }
    return JSONResponse(body, 409 if saved.stale else 200)


@router.get("/drills/{drill_id}/drafts")
def versions(request: Request, drill_id: str, viewer: SignedIn, session: Reading) -> Response:
    """The versions of my draft, newest first."""
    drill = drill_of(request, drill_id)
    found = drafts.versions_of(session, viewer.id, drill.id)
    draft = drafts.newest(found)
    rows = tuple(draft_row(one, draft) for one in reversed(found))
    return render(request, "practice/drafts.html", DraftsPage(drill.id, drill.title, rows))


@router.get("/drills/{drill_id}/drafts/{number}")
def one_version(
    request: Request, drill_id: str, number: int, viewer: SignedIn, session: Reading, layout: str = ""
) -> Response:
    """One version beside the draft."""
    drill = drill_of(request, drill_id)
    version = drafts.version(session, viewer.id, drill.id, number)
    draft = drafts.current(session, viewer.id, drill.id)
    page = _version_page(drill, version, draft or version, layout == INLINE)
    return render(request, "practice/draft.html", page)


@router.post("/drills/{drill_id}/drafts/{number}/restore")
def restore(request: Request, drill_id: str, number: int, viewer: SignedIn, session: Writing) -> Response:
    """Make a version the draft again."""
    drill = drill_of(request, drill_id)
    saved = drafts.restore(session, viewer.id, drill.id, number)
    if _wants_json(request):
        return _told(drill, saved)
    return RedirectResponse(f"/drills/{drill.id}?saved={saved.kept.number}#editor", 303)


@router.post("/drills/{drill_id}/drafts/{number}/discard")
def discard(request: Request, drill_id: str, number: int, viewer: SignedIn, session: Writing) -> Response:
    """Forget a version that is not the draft."""
    drill = drill_of(request, drill_id)
    drafts.discard(session, viewer.id, drill.id, number)
    return RedirectResponse(f"/drills/{drill.id}#editor", 303)


@router.get("/drills/{drill_id}/diff")
def diff(
    request: Request,
    drill_id: str,
    viewer: SignedIn,
    session: Reading,
    old: str = texts.STARTER,
    new: str = texts.DRAFT,
    layout: str = "",
) -> Response:
    """What differs between two texts of mine."""
    drill = drill_of(request, drill_id)
    page = _diff_page(session, viewer.id, drill, old, new, layout == INLINE)
    return render(request, "practice/diff.html", page)


def _diff_page(session: Session, user: str, drill: Drill, old: str, new: str, inline: bool) -> DiffPage:
    before, after = (texts.find(session, user, drill, ref) for ref in (old, new))
    known = texts.choices(session, user, drill)
    listed = {ref for ref, _ in known}
    extra = tuple((text.ref, text.name) for text in (before, after) if text.ref not in listed)
    return DiffPage(
        drill=drill.id,
        drill_title=drill.title,
        old=before,
        new=after,
        diff=compare(before.source, after.source),
        inline=inline,
        choices=tuple(dict.fromkeys((*extra, *known))),
    )


def _version_page(
    drill: Drill, version: DraftVersion, draft: DraftVersion, inline: bool, stale: bool = False
) -> DraftVersionPage:
    return DraftVersionPage(
        drill=drill.id,
        drill_title=drill.title,
        row=draft_row(version, draft),
        draft=draft_row(draft, draft),
        diff=compare(draft.source, version.source),
        inline=inline,
        stale=stale,
    )
