"""The discussion under a question or a drill. Every address passes the same gate: `_inside`."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter, Form, Request
from fastapi.responses import RedirectResponse, Response
from markupsafe import Markup
from sqlalchemy.orm import Session

from app.accounts.routes import Anyone, SignedIn
from app.course.access import STAFF
from app.course.models import Kind, Link
from app.course.present import stylesheets
from app.course.render import render_untrusted
from app.course.store import view_of
from app.db import Reading, Writing, database_of
from app.discussion import service
from app.discussion.models import Post
from app.discussion.pages import DiscussionPage, PostPage, PostView
from app.discussion.service import Said
from app.errors import InvalidForm, NotFound
from app.progress.routes import standings
from app.security import Viewer, plain_text, spend
from app.templating import render

POSTS_PER_HOUR = 30
REPORTS_PER_HOUR = 20

router = APIRouter(include_in_schema=False)
Field = Annotated[str, Form()]


@router.get("/questions/{item}/discussion")
def of_question(request: Request, item: str, viewer: Anyone, session: Reading, before: str = "") -> Response:
    """What is said under a question."""
    return _show(request, session, viewer, Kind.QUESTION, item, before)


@router.get("/drills/{item}/discussion")
def of_drill(request: Request, item: str, viewer: Anyone, session: Reading, before: str = "") -> Response:
    """What is said under a drill."""
    return _show(request, session, viewer, Kind.DRILL, item, before)


@router.post("/questions/{item}/discussion")
def say_under_question(
    request: Request, item: str, viewer: SignedIn, session: Writing, text: Field = "", parent: Field = ""
) -> Response:
    """Say something under a question, or reply."""
    return _say(request, session, viewer, Kind.QUESTION, item, text, parent)


@router.post("/drills/{item}/discussion")
def say_under_drill(
    request: Request, item: str, viewer: SignedIn, session: Writing, text: Field = "", parent: Field = ""
) -> Response:
    """Say something under a drill, or reply."""
    return _say(request, session, viewer, Kind.DRILL, item, text, parent)


@router.get("/posts/{post_id}/edit")
def edit_page(request: Request, post_id: str, viewer: SignedIn, session: Reading) -> Response:
    """The form to edit a post of mine."""
    post = service.own(session, viewer, post_id)
    return _post_page(request, session, viewer, post, "edit", post.text, {})


@router.post("/posts/{post_id}/edit")
def edit(request: Request, post_id: str, viewer: SignedIn, session: Writing, text: Field = "") -> Response:
    """Put another text in the place of a post of mine."""
    post = service.own(session, viewer, post_id)
    _inside(request, session, viewer, post)
    try:
        service.edit(post, plain_text(text).strip())
    except InvalidForm as error:
        return _post_page(request, session, viewer, post, "edit", plain_text(text), error.problems)
    return RedirectResponse(_address(post), 303)


@router.post("/posts/{post_id}/delete")
def delete(request: Request, post_id: str, viewer: SignedIn, session: Writing) -> Response:
    """Take a post of mine back, whether or not the gate is open to me now."""
    post = service.own(session, viewer, post_id)
    service.delete(post)
    return RedirectResponse(_address(post), 303)


@router.get("/posts/{post_id}/report")
def report_page(request: Request, post_id: str, viewer: SignedIn, session: Reading) -> Response:
    """The form to report a post."""
    post = _readable(request, session, viewer, post_id)
    return _post_page(request, session, viewer, post, "report", "", {})


@router.post("/posts/{post_id}/report")
def report(request: Request, post_id: str, viewer: SignedIn, session: Writing, reason: Field = "") -> Response:
    """Tell the moderators about a post."""
    spend(database_of(request), f"report:{viewer.id}", REPORTS_PER_HOUR, 3600)
    post = _readable(request, session, viewer, post_id)
    try:
        service.report(session, viewer, post, plain_text(reason))
    except InvalidForm as error:
        return _post_page(request, session, viewer, post, "report", plain_text(reason), error.problems)
    return RedirectResponse(_address(post), 303)


def _readable(request: Request, session: Session, viewer: Viewer, post_id: str) -> Post:
    """A post that the viewer can read now. Raises `NotFound` for every other."""
    post = session.get(Post, post_id)
    if post is None or post.deleted_at or post.hidden_at:
        raise NotFound("post")
    _inside(request, session, viewer, post)
    return post


def _inside(request: Request, session: Session, viewer: Viewer, post: Post) -> None:
    """Raise `NotFound` where the gate is shut: such a post looks like none."""
    view = view_of(request)
    try:
        link, _ = service.place(view, request.app.state.drills, Kind(post.kind), post.item)
    except NotFound as error:
        raise NotFound("post") from error
    if service.gate(session, viewer, view, link, standings(request, session, viewer)):
        raise NotFound("post")


def _say(
    request: Request, session: Session, viewer: Viewer, kind: Kind, item: str, text: str, parent: str
) -> Response:
    # Counted in a transaction of its own, so before ours begins: SQLite has one writer at a time.
    spend(database_of(request), f"post:{viewer.id}", POSTS_PER_HOUR, 3600)
    view = view_of(request)
    link, _ = service.place(view, request.app.state.drills, kind, item)
    if service.gate(session, viewer, view, link, standings(request, session, viewer)):
        return RedirectResponse(f"{link.href}/discussion", 303)  # which says why it is closed
    typed = plain_text(text).strip()
    try:
        post = service.say(session, viewer, link, typed, parent)
    except InvalidForm as error:
        return _show(request, session, viewer, kind, item, "", (typed, parent, error))
    return RedirectResponse(f"{link.href}/discussion#post-{post.id}", 303)


def _show(
    request: Request,
    session: Session,
    viewer: Viewer | None,
    kind: Kind,
    item: str,
    before: str,
    refused: tuple[str, str, InvalidForm] | None = None,
) -> Response:
    view = view_of(request)
    link, title = service.place(view, request.app.state.drills, kind, item)
    closed = service.gate(session, viewer, view, link, standings(request, session, viewer))
    page = DiscussionPage(title, kind.value, link.href, f"{link.href}/discussion", closed, (), "", not before)
    if viewer is None or closed:
        return render(request, "discussion/show.html", page)
    said = service.threads(session, link, before, service.THREADS + 1)
    shown = said[: service.THREADS]
    under = service.replies(session, [one.post.id for one in shown])
    found = tuple(_thread(one, under.get(one.post.id, []), viewer) for one in shown)
    found = tuple(one for one in found if one.replies or not one.gone)
    older = f"{page.action}?before={shown[-1].post.id}" if len(said) > service.THREADS else ""
    page = replace(page, threads=found, older=older, stylesheets=stylesheets(view, *_all_html(found)))
    if refused:
        typed, parent, error = refused
        page = replace(page, text=typed, parent=parent, problems=error.problems)
    return render(request, "discussion/show.html", page, status=refused[2].status if refused else 200)


def _all_html(threads: tuple[PostView, ...]) -> list[Markup]:
    return [one.html for thread in threads for one in (thread, *thread.replies)]


def _thread(first: Said, under: list[Said], viewer: Viewer) -> PostView:
    replies = tuple(_post_view(one, viewer) for one in under)
    kept = tuple(one for one in replies if not one.gone or one.mine)
    view = _post_view(first, viewer)
    return replace(view, replies=kept, can_reply=not view.gone)


def _post_view(said: Said, viewer: Viewer) -> PostView:
    """A post for one viewer. The text of one that is gone is in no field at all."""
    post, mine = said.post, said.post.user_id == viewer.id
    gone = ""
    if post.deleted_at:
        gone = "Deleted by its author."
    elif post.hidden_at:
        told = mine or viewer.role in STAFF
        gone = f"Hidden by a moderator: {post.hidden_reason}" if told else "Hidden by a moderator."
    return PostView(
        id=post.id,
        author="" if gone and not mine else said.author,
        at=post.at,
        edited_at=None if gone else post.edited_at,
        html=Markup() if gone else render_untrusted(post.text),
        text=post.text if mine and not gone else "",
        mine=mine,
        gone=gone,
        replies=(),
        can_reply=False,
    )


def _post_page(
    request: Request,
    session: Session,
    viewer: Viewer,
    post: Post,
    step: str,
    typed: str,
    problems: dict[str, str],
) -> Response:
    _inside(request, session, viewer, post)
    view = view_of(request)
    _, title = service.place(view, request.app.state.drills, Kind(post.kind), post.item)
    html = render_untrusted(post.text)
    page = PostPage(
        step=step,
        action=f"/posts/{post.id}/{step}",
        back=_address(post),
        title=title,
        html=html,
        typed=typed,
        problems=problems,
        stylesheets=stylesheets(view, html),
    )
    return render(request, "discussion/post.html", page, status=422 if problems else 200)


def _address(post: Post) -> str:
    return f"{Link(Kind(post.kind), post.item).href}/discussion#post-{post.parent_id or post.id}"
