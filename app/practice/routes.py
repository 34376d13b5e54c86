"""Both homes, the list of drills, and the workspace."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import replace

from fastapi import APIRouter, Request
from fastapi.responses import Response
from sqlalchemy.orm import Session

from app import jobs
from app.accounts.preferences import preferences_of
from app.accounts.routes import Anyone
from app.course.access import View
from app.course.present import stylesheets
from app.course.render import render_markdown
from app.course.store import view_of
from app.db import Reading, database_of
from app.practice import draft_routes, drafts, hints, service, study_routes
from app.practice.draft_routes import drill_of
from app.practice.models import DraftVersion
from app.practice.pages import DrillsPage, HomePage, Link, WelcomePage, WorkspacePage
from app.progress.routes import standings
from app.progress.service import Standings, groups_by_topic
from app.security import Viewer
from app.submissions import predictions
from app.submissions import view as submissions
from app.submissions.routes import Refused
from app.templating import render
from grader.drill import Drill

router = APIRouter(include_in_schema=False)
router.include_router(draft_routes.router)
router.include_router(study_routes.router)


@router.get("/")
def home(request: Request, viewer: Anyone, session: Reading) -> Response:
    """The home page: for a visitor what this is, for somebody signed in what to do next."""
    view, drills = view_of(request), request.app.state.drills
    if viewer is None:
        return render(request, "practice/welcome.html", _welcome(view, drills))
    known = standings(request, session, viewer)
    recent = submissions.history(session, viewer.id, drills, limit=5)
    at = service.where(drills, known, view, recent[0].drill if recent else None)
    page = HomePage(
        resume=service.resume(drills, view, at),
        due=request.app.state.due_today(request, session, viewer),
        next=service.up_next(view, known, at),
        recent=recent,
        topics=groups_by_topic(view, drills, known),
    )
    return render(request, "practice/home.html", page)


def _welcome(view: View, drills: Mapping[str, Drill]) -> WelcomePage:
    first = service.first_drill(view, drills)
    return WelcomePage(
        topics=tuple(Link(topic.name, f"/topics/{topic.id}") for topic in view.topics.values()),
        tracks=tuple(Link(track.title, track.link.href, track.summary) for track in view.tracks.values()),
        drills=tuple(service.drill_row(drill, Standings(), view) for drill in service.along_path(drills, view)),
        first=None if first is None else service.drill_row(first, Standings(), view),
    )


@router.get("/drills")
def drills(request: Request, viewer: Anyone, session: Reading) -> Response:
    """All drills, with how far I am."""
    known, view = standings(request, session, viewer), view_of(request)
    path = service.along_path(request.app.state.drills, view)
    rows = tuple(service.drill_row(drill, known, view) for drill in path)
    return render(request, "practice/drills.html", DrillsPage(drills=rows))


@router.get("/drills/{drill_id}")
def workspace(request: Request, drill_id: str, viewer: Anyone, session: Reading, saved: str = "") -> Response:
    """A drill: its statement, the editor with what I wrote last, and my submissions."""
    page = _workspace(request, drill_of(request, drill_id), viewer, session)
    if page.draft is not None and saved == str(page.draft.number):
        page = replace(page, just_saved=True)
    return render(request, "practice/workspace.html", page)


def refused(request: Request, error: Refused) -> Response:
    """The workspace again, with what was typed and what is wrong with it."""
    drill: Drill = request.app.state.drills[error.handed.drill]
    viewer: Viewer | None = request.state.viewer
    with database_of(request).read() as session:
        page = _workspace(request, drill, viewer, session, error)
    return render(request, "practice/workspace.html", page, status=error.status)


def _workspace(
    request: Request, drill: Drill, viewer: Viewer | None, session: Session, error: Refused | None = None
) -> WorkspacePage:
    state = request.app.state
    view = view_of(request)
    history = submissions.history(session, viewer.id, state.drills, drill.id, limit=10) if viewer else ()
    draft = drafts.current(session, viewer.id, drill.id) if viewer else None
    text = _own_text(session, viewer, drill, draft)
    statement = view.snapshot.statements.get(drill.id) or render_markdown(drill.statement)
    source = error.handed.source if error else text
    return WorkspacePage(
        drill=service.drill_row(drill, standings(request, session, viewer), view),
        statement=statement,
        stylesheets=stylesheets(view, statement),
        objectives=drill.objectives,
        out_of_scope=drill.out_of_scope,
        needs=service.needs(drill, view, state.drills),
        source=source,
        starter=drill.starter,
        from_starter=source == drill.starter,
        lanes=service.lane_choices(
            drill,
            jobs.living(session, state.settings.dead_after_seconds),
            {lane: submissions.waiting_in(session, lane) for lane in drill.lanes},
        ),
        token=secrets.token_urlsafe(16),
        action=f"/drills/{drill.id}/submissions",
        run_action=f"/drills/{drill.id}/runs",
        draft_action=f"/drills/{drill.id}/draft",
        source_limit=state.settings.source_limit,
        owner=viewer.id if viewer else "",
        draft=service.draft_row(draft, draft) if draft else None,
        from_draft=draft is not None and source == draft.source,
        just_saved=False,
        may_run=viewer is not None or state.settings.visitor_runs > 0,
        hints=hints.ladder(drill, hints.opened_by(session, viewer.id, drill.id) if viewer else ()),
        modes=predictions.modes_of(drill) if viewer and predictions.is_open(session, viewer.id, drill.id) else (),
        editorial=drill.id in view.snapshot.editorials,
        editorial_opens_with=view.editorial_opens_with(view.drills[drill.id]),
        editor_keys=preferences_of(session, viewer.id if viewer else None).editor_keys,
        history=history,
        problems=error.problems if error else {},
        opens_with=view.work_opens_with(view.drills[drill.id]) if drill.id in view.drills else "",
    )


def _own_text(session: Session, viewer: Viewer | None, drill: Drill, draft: DraftVersion | None) -> str:
    """What somebody wrote last: their draft, or what they handed in or ran after it; else the starter."""
    handed = submissions.newest_text(session, viewer.id, drill.id) if viewer else None
    if draft is not None and (handed is None or draft.saved_at >= handed.submitted_at):
        return draft.source
    return handed.source if handed is not None else drill.starter
