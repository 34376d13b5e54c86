"""Saying something, taking it back, and looking after what others said.

The gate: under a drill, whoever has passed it; under a question, whoever may read its answer and has read it or
written an answer of their own. Staff come in without. Who does not come in gets no word of any post, in no answer.

Reading order: `gate` → `threads` → `say` → `edit`, `delete` → `report` → `hide`, `restore`, `dismiss`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import func, select, tuple_, update
from sqlalchemy.orm import Session

from app.accounts.audit import note
from app.accounts.models import User
from app.course.access import STAFF, View
from app.course.models import Kind, Link
from app.db import alone, new_id, now
from app.discussion.models import Post, Report
from app.errors import InvalidForm, NotFound
from app.progress.attempts import has_attempt
from app.progress.service import Standings
from app.security import Viewer
from grader.drill import Drill

TEXT_MOST = 10_000  # characters
REASON_MOST = 400
THREADS = 20  # on one page
TWICE = timedelta(minutes=1)  # the same words again within it are a double click
PLACES = frozenset([Kind.QUESTION, Kind.DRILL])


@dataclass(frozen=True)
class Said:
    """A post with its author's name."""

    post: Post
    author: str


def place(view: View, drills: Mapping[str, Drill], kind: Kind, item: str) -> tuple[Link, str]:
    """What is discussed, with its title. Raises `NotFound` for what the viewer may not know of."""
    link = Link(kind, item)
    if kind is Kind.DRILL and item in drills:
        return link, drills[item].title
    if kind is Kind.QUESTION and item in view.questions:
        return link, view.questions[item].title
    raise NotFound("discussion")


def gate(session: Session, viewer: Viewer | None, view: View, link: Link, standings: Standings) -> str:
    """Why the discussion is closed to `viewer`, in one sentence; empty when it is open."""
    if viewer is None:
        return "Sign in first: what others found would spoil it for you."
    if viewer.role in STAFF:
        return ""
    if link.kind is Kind.DRILL:
        return "" if link.id in standings.passed else "It opens when your code is accepted."
    if not view.may_read_answer(view.questions[link.id]):
        return "It opens with the answer. " + view.opens_with(view.questions[link.id])
    if (link.kind.value, link.id) in standings.read or has_attempt(session, viewer.id, link.id):
        return ""
    return "It opens when you have kept an answer of your own, or marked the question as read."


def threads(session: Session, link: Link, before: str = "", limit: int = THREADS) -> list[Said]:
    """The first posts of threads, newest first, older than the one with id `before`."""
    query = select(Post, User.username).join(User, User.id == Post.user_id)
    query = query.where(Post.kind == link.kind.value, Post.item == link.id, Post.parent_id.is_(None))
    mark = session.get(Post, before) if before else None
    if mark is not None:
        query = query.where(tuple_(Post.at, Post.id) < tuple_(mark.at, mark.id))
    rows = session.execute(query.order_by(Post.at.desc(), Post.id.desc()).limit(limit))
    return [Said(post, author) for post, author in rows]


def replies(session: Session, parents: Sequence[str]) -> dict[str, list[Said]]:
    """The replies of many threads, oldest first, by the id of the first post."""
    rows = session.execute(
        select(Post, User.username)
        .join(User, User.id == Post.user_id)
        .where(Post.parent_id.in_(parents))
        .order_by(Post.at, Post.id)
    )
    found: dict[str, list[Said]] = {}
    for post, author in rows:
        found.setdefault(post.parent_id or "", []).append(Said(post, author))
    return found


def say(session: Session, viewer: Viewer, link: Link, text: str, parent_id: str = "") -> Post:
    """Add a post, or a reply to one; the same words sent twice are one post.

    Raises `InvalidForm`, and `NotFound` for what cannot be replied to.
    """
    check(text)
    alone(session, viewer.id)
    parent = session.get(Post, parent_id) if parent_id else None
    if parent_id and (parent is None or (parent.kind, parent.item) != (link.kind.value, link.id)):
        raise NotFound("post")
    if parent is not None and (parent.parent_id or parent.deleted_at or parent.hidden_at):
        raise NotFound("post")  # one level deep, and not under what is gone
    said = _said_just_now(session, viewer, link, text, parent.id if parent else None)
    if said is not None:
        return said
    post = Post(
        id=new_id(),
        kind=link.kind.value,
        item=link.id,
        parent_id=parent.id if parent else None,
        user_id=viewer.id,
        text=text,
        at=now(),
    )
    session.add(post)
    session.flush()
    return post


def _said_just_now(session: Session, viewer: Viewer, link: Link, text: str, parent: str | None) -> Post | None:
    mine = (Post.user_id == viewer.id, Post.at > now() - TWICE, Post.deleted_at.is_(None))
    here = (Post.kind == link.kind.value, Post.item == link.id, Post.parent_id == parent)
    return session.scalar(select(Post).where(*mine, *here, Post.text == text).limit(1))


def check(text: str) -> None:
    """Raise `InvalidForm` for a text that is no post."""
    if not text.strip():
        raise InvalidForm({"text": "Say something first."})
    if len(text) > TEXT_MOST:
        raise InvalidForm({"text": f"A post has at most {TEXT_MOST:,} characters."})


def own(session: Session, viewer: Viewer, post_id: str) -> Post:
    """A post of the viewer's own that is still there. Raises `NotFound` for every other."""
    alone(session, viewer.id)
    post = session.get(Post, post_id)
    if post is None or post.user_id != viewer.id or post.deleted_at or post.hidden_at:
        raise NotFound("post")
    return post


def edit(post: Post, text: str) -> None:
    """Put another text in the place of a post's. Raises `InvalidForm`."""
    check(text)
    if text != post.text:
        post.text, post.edited_at = text, now()


def delete(post: Post) -> None:
    """Take a post back: its text is gone for good."""
    post.text, post.deleted_at = "", now()


def report(session: Session, viewer: Viewer, post: Post, reason: str) -> None:
    """Tell the moderators about a post; the same person twice about the same post is once."""
    reason = " ".join(reason.split())
    if not 1 <= len(reason) <= REASON_MOST:
        raise InvalidForm({"reason": f"Say what is wrong with it, in at most {REASON_MOST} characters."})
    alone(session, viewer.id)
    known = select(Report.id).where(
        Report.post_id == post.id, Report.user_id == viewer.id, Report.closed_at.is_(None)
    )
    if session.scalar(known) is None:
        row = Report(id=new_id(), post_id=post.id, user_id=viewer.id, reason=reason, text=post.text, at=now())
        session.add(row)


# --- moderation -------------------------------------------------------------------------------------


def open_reports(session: Session, limit: int = 100) -> list[tuple[Report, Post, str, str]]:
    """Reports that nobody has dealt with, oldest first: with their post, its author and who reported it."""
    author, by = User.__table__.alias("author"), User.__table__.alias("by")
    rows = session.execute(
        select(Report, Post, author.c.username, by.c.username)
        .join(Post, Post.id == Report.post_id)
        .join(author, author.c.id == Post.user_id)
        .join(by, by.c.id == Report.user_id)
        .where(Report.closed_at.is_(None))
        .order_by(Report.at, Report.id)
        .limit(limit)
    )
    return [(report, post, author, by) for report, post, author, by in rows]


def count_reports(session: Session) -> int:
    """How many reports nobody has dealt with."""
    return session.scalar(select(func.count()).select_from(Report).where(Report.closed_at.is_(None))) or 0


def hidden(session: Session, limit: int = 50) -> list[Said]:
    """Posts that moderators hid, newest first."""
    rows = session.execute(
        select(Post, User.username)
        .join(User, User.id == Post.user_id)
        .where(Post.hidden_at.is_not(None))
        .order_by(Post.hidden_at.desc(), Post.id)
        .limit(limit)
    )
    return [Said(post, author) for post, author in rows]


def hide(session: Session, moderator: Viewer, post_id: str, reason: str) -> Post:
    """Take a post out of everybody's sight, with a reason, and close its reports. Raises `InvalidForm`."""
    reason = " ".join(reason.split())
    if not 1 <= len(reason) <= REASON_MOST:
        raise InvalidForm({"reason": f"Give a reason, in at most {REASON_MOST} characters: its author reads it."})
    post = _post(session, post_id)
    post.hidden_at, post.hidden_reason = now(), reason
    _close(session, post)
    note(session, moderator, "hide post", _address(post), {"post": post.id, "reason": reason})
    return post


def restore(session: Session, moderator: Viewer, post_id: str) -> Post:
    """Show a hidden post again."""
    post = _post(session, post_id)
    post.hidden_at = post.hidden_reason = None
    note(session, moderator, "restore post", _address(post), {"post": post.id})
    return post


def dismiss(session: Session, moderator: Viewer, post_id: str) -> Post:
    """Close a post's reports and leave the post."""
    post = _post(session, post_id)
    _close(session, post)
    note(session, moderator, "dismiss reports", _address(post), {"post": post.id})
    return post


def _post(session: Session, post_id: str) -> Post:
    post = session.get(Post, post_id, with_for_update=True)
    if post is None:
        raise NotFound("post")
    return post


def _close(session: Session, post: Post) -> None:
    session.execute(
        update(Report).where(Report.post_id == post.id, Report.closed_at.is_(None)).values(closed_at=now())
    )


def _address(post: Post) -> str:
    return f"{Link(Kind(post.kind), post.item).href}/discussion"
