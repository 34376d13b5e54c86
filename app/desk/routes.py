"""The desk. Every address here is for administrators; for anyone else it does not exist."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Request
from fastapi.responses import RedirectResponse, Response
from sqlalchemy.orm import Session
from starlette.datastructures import FormData

from app.accounts.audit import trail
from app.accounts.routes import Admin
from app.course.present import stylesheets
from app.course.store import current, view_of
from app.db import Reading, Writing
from app.desk import service, view
from app.desk import work as works
from app.desk.pages import AuditPage, DeskPage
from app.desk.service import Choice, Scored, Stale
from app.desk.work import Criterion, Work
from app.errors import BadRequest, Conflict, InvalidForm
from app.security import Viewer, plain_text
from app.submissions.grades import service as grades
from app.templating import render

AUDIT_PAGE = 50

router = APIRouter(prefix="/desk", include_in_schema=False)


@router.get("")
def desk(request: Request, viewer: Admin, session: Reading) -> Response:
    """The queue, with nothing open."""
    return _page(request, viewer, session)


@router.get("/audit")
def audit(viewer: Admin, request: Request, session: Reading, before: str = "") -> Response:
    """Who did what, newest first."""
    rows = trail(session, before, AUDIT_PAGE + 1)
    older = f"/desk/audit?before={rows[AUDIT_PAGE - 1].id}" if len(rows) > AUDIT_PAGE else ""
    lines = tuple(view.audit_line(row) for row in rows[:AUDIT_PAGE])
    nav = view.nav(session, "audit", request.app.state.drills, current(request))
    page = AuditPage(nav, lines, older)
    return render(request, "desk/audit.html", page)


async def _sent(request: Request, viewer: Admin) -> FormData:
    """The form as it came. Asking who it is comes first, so that nobody else's body is read."""
    return await request.form(max_files=0, max_fields=500)


Sent = Annotated[FormData, Depends(_sent)]


@router.get("/{kind}/{work_id}")
def show(request: Request, kind: str, work_id: str, viewer: Admin, session: Reading) -> Response:
    """One piece of work with its rubric. Looking takes nothing."""
    work = _find(request, session, kind, work_id)
    scored = service.chosen(grades.newest(session, work.kind, work.id))
    return _page(request, viewer, session, work, scored)


@router.post("/{kind}/{work_id}/take")
def take(request: Request, kind: str, work_id: str, viewer: Admin, session: Writing) -> Response:
    """Be the one who scores it. When somebody else was first, the page says who."""
    work = _find(request, session, kind, work_id)
    try:
        service.take(session, work, viewer)
    except Conflict as error:
        scored = service.chosen(grades.newest(session, work.kind, work.id))
        return _page(request, viewer, session, work, scored, {"form": error.message}, status=409)
    return RedirectResponse(f"/desk/{kind}/{work_id}#scoring", 303)


@router.post("/{kind}/{work_id}/release")
def release(request: Request, kind: str, work_id: str, viewer: Admin, session: Writing) -> Response:
    """Give it back unscored."""
    service.release(session, _find(request, session, kind, work_id), viewer)
    return RedirectResponse("/desk", 303)


@router.post("/{kind}/{work_id}")
def save(request: Request, kind: str, work_id: str, viewer: Admin, sent: Sent, session: Writing) -> Response:
    """Keep a grade and go on to what waits next. Whatever stands against it, nothing that was typed is lost."""
    work = _find(request, session, kind, work_id)
    rubric = works.rubric_of(work.kind, work.subject, request.app.state.drills, current(request))
    scored = scored_in(sent, rubric)
    try:
        service.save(session, viewer, work, rubric, scored)
    except InvalidForm as error:
        return _page(request, viewer, session, work, scored, error.problems, status=error.status, typed=True)
    except Stale as error:
        mine = service.rebased(scored, error.theirs)
        said = {"form": error.message}
        return _page(request, viewer, session, work, mine, said, status=409, theirs=error, typed=True)
    except Conflict as error:
        said = {"form": error.message}
        return _page(request, viewer, session, work, scored, said, status=409, typed=True)
    if sent.get("then") == "stay":
        return RedirectResponse(f"/desk/{kind}/{work_id}", 303)
    return RedirectResponse(_take_next(request, session, viewer), 303)


def scored_in(sent: FormData, rubric: tuple[Criterion, ...]) -> Scored:
    """What a scoring form says, whatever was sent in its place."""

    def field(name: str) -> str:
        value = sent.get(name)
        return plain_text(value) if isinstance(value, str) else ""

    base = field("base")
    if not (base.isascii() and base.isdigit() and len(base) < 7):
        raise BadRequest("This form is stale.", "Open the work again and score it from there.")
    choices = {
        one.id: Choice(
            field(f"item-{one.id}"), field(f"points-{one.id}"), field(f"text-{one.id}"), field(f"comment-{one.id}")
        )
        for one in rubric
    }
    return Scored(int(base), choices, field("comment"), field("reason"))


def _take_next(request: Request, session: Session, viewer: Viewer) -> str:
    """Take what waits next and nobody holds; its address, or the desk's when nothing is left."""
    drills, snapshot = request.app.state.drills, current(request)
    session.flush()
    for line in works.waiting(session, drills, list(snapshot.tracks)):
        work = works.find(session, line.kind, line.id, drills, snapshot)
        try:
            service.take(session, work, viewer)
        except Conflict:  # somebody holds it, or it is the viewer's own
            continue
        return f"/desk/{line.kind}/{line.id}#scoring"
    return "/desk"


def _find(request: Request, session: Session, kind: str, work_id: str) -> Work:
    return works.find(session, kind, work_id, request.app.state.drills, current(request))


def _page(
    request: Request,
    viewer: Viewer,
    session: Session,
    work: Work | None = None,
    scored: Scored | None = None,
    problems: dict[str, str] | None = None,
    status: int = 200,
    theirs: Stale | None = None,
    typed: bool = False,
) -> Response:
    """The desk with a piece of work in the centre, or with none."""
    drills, snapshot = request.app.state.drills, current(request)
    waiting = works.waiting(session, drills, list(snapshot.tracks))
    rubric = works.rubric_of(work.kind, work.subject, drills, snapshot) if work else ()
    against = theirs.theirs if theirs else None
    page = DeskPage(
        nav=view.nav(session, "work", drills, snapshot, len(waiting)),
        queue=view.queue_lines(session, waiting, viewer, work.id if work else "", drills, snapshot),
        work=view.panel(session, work, drills) if work else None,
        scoring=view.scoring(session, viewer, work, rubric, scored or Scored(), problems or {}, against, typed)
        if work
        else None,
        scored=view.scored_lines(session, drills, snapshot),
        stylesheets=stylesheets(view_of(request), *(one.text for one in rubric)),
    )
    return render(request, "desk/work.html", page, status=status)
