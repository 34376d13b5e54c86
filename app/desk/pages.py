"""The typed contexts of `app/templates/desk/*.html`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from markupsafe import Markup

from app.submissions.capstones.pages import Handed
from app.submissions.grades.pages import Feedback, GradeView


@dataclass(frozen=True)
class DeskNav:
    """What every page of the desk shows at its top."""

    here: str  # "work", "reports", "audit"
    waiting: int
    reports: int


@dataclass(frozen=True)
class QueueLine:
    """A piece of work that waits."""

    href: str
    title: str
    kind: str
    learner: str
    handed_at: datetime
    again: bool  # an earlier one of the same learner was scored
    holder: str  # who is at work on it, or empty
    current: bool


@dataclass(frozen=True)
class ItemLine:
    """Something a grader can choose for a criterion."""

    id: str
    text: str
    points: int
    key: int  # the digit that chooses it; 0 where there is none
    chosen: bool


@dataclass(frozen=True)
class CriterionLine:
    """One criterion of the scoring form. Its fields are `item-ID`, `points-ID`, `text-ID` and `comment-ID`."""

    id: str
    number: int
    text: Markup
    points: int
    items: tuple[ItemLine, ...]
    new_chosen: bool
    new_points: str
    new_text: str
    comment: str
    problem: str


@dataclass(frozen=True)
class Scoring:
    """The rubric on the right. `open` is whether the viewer holds it and can save."""

    action: str
    open: bool
    why_closed: str  # why not, in one sentence
    can_take: bool
    until: datetime | None  # when the viewer's hold ends
    criteria: tuple[CriterionLine, ...]
    possible: int
    base: int
    comment: str
    reason: str
    again: bool  # it has a score: a reason is asked for
    theirs: GradeView | None = None  # what somebody else gave meanwhile
    problems: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class WorkPanel:
    """The work in the centre."""

    kind: str
    title: str
    name: str  # "Version 2", "Submission 3"
    href: str  # its page as its learner sees it
    subject_href: str
    rubric_href: str
    learner: str
    handed_at: datetime
    handed: Handed | None  # of a capstone
    source: str  # of an outline
    sentence: str  # the automatic verdict's, of an outline
    feedback: Feedback


@dataclass(frozen=True)
class DeskPage:
    """`desk/work.html`: the queue, one piece of work and its rubric; without work, what to do next."""

    nav: DeskNav
    queue: tuple[QueueLine, ...]
    work: WorkPanel | None
    scoring: Scoring | None
    scored: tuple[QueueLine, ...]  # scored last, newest first
    stylesheets: tuple[str, ...] = ()


@dataclass(frozen=True)
class RubricLine:
    """A reusable item in its rubric, with how many grades use it."""

    id: str
    points: int
    text: str
    author: str
    uses: int


@dataclass(frozen=True)
class RubricGroup:
    """A criterion with its reusable items."""

    text: Markup
    points: int
    items: tuple[RubricLine, ...]


@dataclass(frozen=True)
class ChangeLine:
    """A grade that a change changes."""

    href: str
    learner: str
    before: int
    after: int
    possible: int


@dataclass(frozen=True)
class Draft:
    """A change of an item that is not done yet: what it would change."""

    item: str
    points: str
    text: str
    problem: str
    changes: tuple[ChangeLine, ...]


@dataclass(frozen=True)
class RubricPage:
    """`desk/rubric.html`. `draft` is a change that waits for its second click."""

    nav: DeskNav
    title: str
    action: str
    groups: tuple[RubricGroup, ...]
    draft: Draft | None
    stylesheets: tuple[str, ...]


@dataclass(frozen=True)
class ReportLine:
    """One report. `then` is the post's text when it was reported, where that has changed."""

    by: str
    at: datetime
    reason: str
    then: str


@dataclass(frozen=True)
class ReportedPost:
    """A post with what was said against it."""

    id: str
    title: str  # of the question or drill
    href: str
    author: str
    at: datetime
    html: Markup  # as it is now; cleaned
    hidden_reason: str  # empty while it is shown
    reports: tuple[ReportLine, ...]


@dataclass(frozen=True)
class ReportsPage:
    """`desk/reports.html`: what was reported, then what is hidden. Posts `reason` to `/desk/posts/{id}/hide`."""

    nav: DeskNav
    reported: tuple[ReportedPost, ...]
    hidden: tuple[ReportedPost, ...]
    single: bool  # the page of one post
    problem: str = ""
    stylesheets: tuple[str, ...] = ()


@dataclass(frozen=True)
class AuditLine:
    """One act."""

    at: datetime
    actor: str
    action: str
    target: str
    href: str  # its address, or empty
    details: str


@dataclass(frozen=True)
class AuditPage:
    """`desk/audit.html`: who did what, newest first."""

    nav: DeskNav
    rows: tuple[AuditLine, ...]
    older: str
