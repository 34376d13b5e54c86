"""Looking after the discussion: what was reported, hiding with a reason, and showing again."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Form, Request
from fastapi.responses import RedirectResponse, Response
from sqlalchemy.orm import Session

from app.accounts.routes import Admin
from app.course.models import Kind, Link
from app.course.present import stylesheets
from app.course.render import render_untrusted
from app.course.store import current, view_of
from app.db import Reading, Writing
from app.desk import view
from app.desk.pages import ReportedPost, ReportLine, ReportsPage
from app.desk.work import name_of
from app.discussion import service
from app.discussion.models import Post, Report
from app.errors import InvalidForm, NotFound
from app.progress.service import title_of
from app.security import plain_text
from app.templating import render

router = APIRouter(prefix="/desk", include_in_schema=False)


@router.get("/reports")
def reports(request: Request, viewer: Admin, session: Reading) -> Response:
    """What was reported, and what is hidden."""
    return _page(request, session)


@router.get("/posts/{post_id}")
def post(request: Request, post_id: str, viewer: Admin, session: Reading) -> Response:
    """One post, reported or not."""
    return _page(request, session, post_id)


@router.post("/posts/{post_id}/hide")
def hide(
    request: Request, post_id: str, viewer: Admin, session: Writing, reason: Annotated[str, Form()] = ""
) -> Response:
    """Take a post out of everybody's sight."""
    try:
        service.hide(session, viewer, post_id, plain_text(reason))
    except InvalidForm as error:
        return _page(request, session, post_id, error.problems["reason"])
    return RedirectResponse("/desk/reports", 303)


@router.post("/posts/{post_id}/restore")
def restore(post_id: str, viewer: Admin, session: Writing) -> Response:
    """Show a hidden post again."""
    service.restore(session, viewer, post_id)
    return RedirectResponse("/desk/reports", 303)


@router.post("/posts/{post_id}/dismiss")
def dismiss(post_id: str, viewer: Admin, session: Writing) -> Response:
    """Close a post's reports and leave the post."""
    service.dismiss(session, viewer, post_id)
    return RedirectResponse("/desk/reports", 303)


def _page(request: Request, session: Session, only: str = "", problem: str = "") -> Response:
    found: dict[str, list[tuple[Report, str]]] = {}
    posts: dict[str, tuple[Post, str]] = {}
    for report, one, author, by in service.open_reports(session):
        found.setdefault(one.id, []).append((report, by))
        posts[one.id] = (one, author)
    hidden = {said.post.id: (said.post, said.author) for said in service.hidden(session)}
    if only:
        single = session.get(Post, only)
        if single is None:
            raise NotFound("post")
        posts, hidden = {only: (single, name_of(session, single.user_id))}, {}
    reported = tuple(_reported(request, one, author, found.get(id, [])) for id, (one, author) in posts.items())
    put_away = tuple(_reported(request, one, author, []) for id, (one, author) in hidden.items())
    page = ReportsPage(
        nav=view.nav(session, "reports", request.app.state.drills, current(request)),
        reported=reported,
        hidden=put_away,
        single=bool(only),
        problem=problem,
        stylesheets=stylesheets(view_of(request), *(one.html for one in (*reported, *put_away))),
    )
    return render(request, "desk/reports.html", page, status=422 if problem else 200)


def _reported(request: Request, post: Post, author: str, reports: list[tuple[Report, str]]) -> ReportedPost:
    link = Link(Kind(post.kind), post.item)
    return ReportedPost(
        id=post.id,
        title=title_of(link, view_of(request), request.app.state.drills) or post.item,
        href=f"{link.href}/discussion#post-{post.parent_id or post.id}",
        author=author,
        at=post.at,
        html=render_untrusted(post.text),
        hidden_reason=(post.hidden_reason or "") if post.hidden_at else "",
        reports=tuple(
            ReportLine(by, report.at, report.reason, report.text if report.text != post.text else "")
            for report, by in reports
        ),
    )
