"""Pages for a rubric's reusable items. A change is shown before it is done, with everybody it changes."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Form, Request
from fastapi.responses import RedirectResponse, Response
from sqlalchemy.orm import Session

from app.accounts.routes import Admin
from app.course.present import stylesheets
from app.course.store import current, view_of
from app.db import Reading, Writing
from app.desk import rubric as rubrics
from app.desk import service, view
from app.desk import work as works
from app.desk.models import RubricItem
from app.desk.pages import ChangeLine, Draft, RubricGroup, RubricLine, RubricPage
from app.desk.work import Criterion
from app.errors import NotFound
from app.security import plain_text
from app.submissions.grades.models import WorkKind
from app.templating import render

router = APIRouter(prefix="/desk", include_in_schema=False)


@router.get("/rubrics/{kind}/{subject}")
def rubric(request: Request, kind: str, subject: str, viewer: Admin, session: Reading) -> Response:
    """A rubric's reusable items, with how many grades use each."""
    return _rubric_page(request, session, kind, subject, None)


@router.post("/rubrics/{kind}/{subject}/items/{item_id}")
def change_item(
    request: Request,
    kind: str,
    subject: str,
    item_id: str,
    viewer: Admin,
    session: Writing,
    points: Annotated[str, Form()] = "",
    text: Annotated[str, Form()] = "",
    step: Annotated[str, Form()] = "show",
) -> Response:
    """Show who changes when an item changes (`step` = show), do it (do), or offer the item no more (retire)."""
    item = rubrics.find_item(session, item_id)
    if (item.kind, item.subject) != (kind, subject):
        raise NotFound("item")
    address = f"/desk/rubrics/{kind}/{subject}"
    if step == "retire":
        rubrics.retire_item(session, viewer, item)
        return RedirectResponse(address, 303)
    most = next((one.points for one in _rubric(request, kind, subject) if one.id == item.criterion), 0)
    given, words = service.points_in(points, most), " ".join(plain_text(text).split())
    problem = _problem(given, words, most)
    if given is not None and not problem and step == "do":
        rubrics.change_item(session, viewer, item, given, words)
        return RedirectResponse(address, 303)
    changes = () if given is None or problem else _changes(session, item, given, words)
    draft = Draft(item.id, points[:8], words[: service.ITEM_MOST], problem, changes)
    return _rubric_page(request, session, kind, subject, draft, status=422 if problem else 200)


def _problem(points: int | None, text: str, most: int) -> str:
    if points is None:
        return f"It earns 0 to {most} points."
    if not 1 <= len(text) <= service.ITEM_MOST:
        return f"Its text has 1 to {service.ITEM_MOST} characters."
    return ""


def _changes(session: Session, item: RubricItem, points: int, text: str) -> tuple[ChangeLine, ...]:
    return tuple(
        ChangeLine(
            href=f"/desk/{one.grade.kind}/{one.grade.work}",
            learner=works.name_of(session, one.grade.user_id),
            before=one.grade.points,
            after=one.points,
            possible=one.grade.possible,
        )
        for one in rubrics.changes(session, item, points, text)
    )


def _rubric(request: Request, kind: str, subject: str) -> tuple[Criterion, ...]:
    if kind not in list(WorkKind):
        raise NotFound("rubric")
    found = works.rubric_of(WorkKind(kind), subject, request.app.state.drills, current(request))
    if not found:
        raise NotFound("rubric")
    return found


def _rubric_page(
    request: Request, session: Session, kind: str, subject: str, draft: Draft | None, status: int = 200
) -> Response:
    criteria = _rubric(request, kind, subject)
    offered = service.items_of(session, WorkKind(kind), subject)
    using = rubrics.uses(session, kind, subject)
    groups = tuple(
        RubricGroup(
            one.text,
            one.points,
            tuple(
                RubricLine(item.id, item.points, item.text, item.author, len(using.get(item.id, ())))
                for item in offered.get(one.id, [])
            ),
        )
        for one in criteria
    )
    snapshot = current(request)
    page = RubricPage(
        nav=view.nav(session, "work", request.app.state.drills, snapshot),
        title=view.title_of(kind, subject, request.app.state.drills, snapshot),
        action=f"/desk/rubrics/{kind}/{subject}",
        groups=groups,
        draft=draft,
        stylesheets=stylesheets(view_of(request), *(one.text for one in criteria)),
    )
    return render(request, "desk/rubric.html", page, status=status)
