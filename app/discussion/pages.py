"""The typed contexts of `app/templates/discussion/*.html`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from markupsafe import Markup


@dataclass(frozen=True)
class PostView:
    """A post as one viewer may see it. Of one that is gone only `gone` says so; `html` and `text` are empty."""

    id: str
    author: str
    at: datetime
    edited_at: datetime | None
    html: Markup
    text: str  # to edit; only the author's own
    mine: bool
    gone: str  # why there is nothing to read, or empty
    replies: tuple[PostView, ...]
    can_reply: bool


@dataclass(frozen=True)
class DiscussionPage:
    """`discussion/show.html`. `closed` says why the gate is shut; then there are no threads at all."""

    title: str  # of the question or drill
    kind: str
    href: str  # of the question or drill
    action: str
    closed: str
    threads: tuple[PostView, ...]
    older: str
    first_page: bool
    text: str = ""  # what was typed and refused
    parent: str = ""  # the thread that it replied to, or the post that it edits
    problems: Mapping[str, str] = field(default_factory=dict)
    stylesheets: tuple[str, ...] = ()


@dataclass(frozen=True)
class PostPage:
    """`discussion/post.html`: one post, to edit or to report without JavaScript. Posts `text` or `reason`."""

    step: str  # "edit" or "report"
    action: str
    back: str
    title: str
    html: Markup
    typed: str
    problems: Mapping[str, str] = field(default_factory=dict)
    stylesheets: tuple[str, ...] = ()
