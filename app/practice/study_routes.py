"""What stands beside a drill: its hints, its editorial, and the evidence of having done it."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Form, Request
from fastapi.responses import RedirectResponse, Response
from sqlalchemy.orm import Session

from app.accounts.routes import Anyone, SignedIn
from app.course import present
from app.course.render import render_untrusted
from app.course.store import view_of
from app.db import Reading, Writing
from app.practice import drafts, evidence, hints
from app.practice.draft_routes import drill_of
from app.practice.models import Cause
from app.practice.pages import EditorialPage, EvidencePage
from app.security import Viewer
from app.submissions.routes import require_open, unix_lines
from app.templating import render
from grader.drill import Drill

router = APIRouter(include_in_schema=False)
Field = Annotated[str, Form()]
Number = Annotated[int, Form(ge=0, lt=2**31)]


@router.post("/drills/{drill_id}/hints")
def open_hint(
    request: Request,
    drill_id: str,
    viewer: SignedIn,
    session: Writing,
    hint: Number = 0,
    source: Annotated[str | None, Form()] = None,
    base: Number = 0,
) -> Response:
    """Open the next hint. The form of the editor sends what is in it along, so that nothing typed is lost."""
    drill = drill_of(request, drill_id)
    require_open(request, drill.id)
    hints.open_next(session, viewer.id, drill, hint)
    _keep_draft(request, session, viewer, drill, source, base)
    return RedirectResponse(f"/drills/{drill.id}#hints", 303)


def _keep_draft(
    request: Request, session: Session, viewer: Viewer, drill: Drill, source: str | None, base: int
) -> None:
    text = None if source is None else unix_lines(source)
    if text and text != drill.starter and not drafts.draft_problem(text, request.app.state.settings.source_limit):
        drafts.save(session, viewer.id, drill.id, text, base, Cause.AUTO)


@router.get("/drills/{drill_id}/editorial")
def editorial(request: Request, drill_id: str, viewer: Anyone) -> Response:
    """How the drill is done, for whoever has done it; for others, what opens it."""
    drill, view = drill_of(request, drill_id), view_of(request)
    is_open = view.may_read_editorial(drill.id)
    found = present.editorial(view, drill.id) if is_open else None
    page = EditorialPage(
        drill=drill.id,
        drill_title=drill.title,
        opens_with="" if is_open else view.editorial_opens_with(view.drills[drill.id]),
        sections=found.sections if found else (),
        stylesheets=found.stylesheets if found else (),
    )
    return render(request, "practice/editorial.html", page)


@router.get("/drills/{drill_id}/evidence")
def show_evidence(request: Request, drill_id: str, viewer: SignedIn, session: Reading) -> Response:
    """What I can show of a drill."""
    facts = evidence.gather(session, viewer.id, drill_of(request, drill_id))
    return render(request, "practice/evidence.html", _page(facts))


@router.post("/drills/{drill_id}/evidence")
def keep_notes(
    request: Request,
    drill_id: str,
    viewer: SignedIn,
    session: Writing,
    notes: Field = "",
    failed: Field = "",
    base: Number = 0,
) -> Response:
    """Keep my notes, and which attempt to show. Notes that were saved elsewhere meanwhile are not overwritten."""
    drill = drill_of(request, drill_id)
    kept = evidence.keep_notes(session, viewer.id, drill.id, unix_lines(notes), failed, base)
    if kept.stale:
        facts = evidence.gather(session, viewer.id, drill)
        return render(request, "practice/evidence.html", _page(facts, unix_lines(notes)), status=409)
    return RedirectResponse(f"/drills/{drill.id}/evidence#notes", 303)


def _page(facts: evidence.Facts, mine: str | None = None) -> EvidencePage:
    return EvidencePage(facts, render_untrusted(facts.notes) if facts.notes else None, mine)


@router.get("/drills/{drill_id}/evidence.md")
def evidence_markdown(request: Request, drill_id: str, viewer: SignedIn, session: Reading) -> Response:
    """The evidence as Markdown."""
    facts = evidence.gather(session, viewer.id, drill_of(request, drill_id))
    return _file(evidence.as_markdown(facts).encode("utf-8", "replace"), facts.drill, "md", "text/markdown")


@router.get("/drills/{drill_id}/evidence.zip")
def evidence_zip(request: Request, drill_id: str, viewer: SignedIn, session: Reading) -> Response:
    """The evidence as an archive with its files."""
    facts = evidence.gather(session, viewer.id, drill_of(request, drill_id))
    return _file(evidence.as_zip(facts), facts.drill, "zip", "application/zip")


def _file(content: bytes, drill: str, ending: str, kind: str) -> Response:
    """A file to keep. A drill's id holds lower-case letters, digits and `_` alone, so it is a safe name."""
    disposition = {"Content-Disposition": f'attachment; filename="{drill}-evidence.{ending}"'}
    return Response(content, headers=disposition, media_type=kind)
