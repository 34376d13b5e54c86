"""The typed contexts of `app/templates/practice/*.html`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from markupsafe import Markup

from app.progress.pages import ProgressGroup, Standing
from app.submissions.pages import HistoryRow
from grader.verdict import Lane


@dataclass(frozen=True)
class Link:
    """A title and where it leads; `why` is one short clause, or empty."""

    title: str
    href: str
    why: str = ""


@dataclass(frozen=True)
class DrillRow:
    """One drill of the list."""

    id: str
    title: str
    kind: str  # "implement", "debug", …
    level: str  # "Foundational", "Core", "Advanced"
    summary: str
    lanes: tuple[Lane, ...]
    standing: Standing  # NEW, TRIED or PASSED
    refused: int = 0  # wrong kernels that the publication gate saw refused
    accepted: int = 0  # right kernels of other construction that it saw accepted


@dataclass(frozen=True)
class WelcomePage:
    """`practice/welcome.html`: the home of a visitor."""

    topics: tuple[Link, ...]
    tracks: tuple[Link, ...]
    drills: tuple[DrillRow, ...]


@dataclass(frozen=True)
class HomePage:
    """`practice/home.html`: the home of somebody signed in."""

    resume: Link | None  # where they were
    next: tuple[Link, ...]  # up next, each with why
    recent: tuple[HistoryRow, ...]  # newest first, at most five
    topics: tuple[ProgressGroup, ...]


@dataclass(frozen=True)
class DrillsPage:
    """`practice/drills.html`."""

    drills: tuple[DrillRow, ...]


@dataclass(frozen=True)
class LaneChoice:
    """A lane that the drill can run in. `ready` is False while no worker serves it; submitting still queues."""

    lane: Lane
    waiting: int  # submissions ahead
    ready: bool
    note: str  # why not ready, or empty


@dataclass(frozen=True)
class WorkspacePage:
    """`practice/workspace.html`. Posts `source`, `lane`, `token` to `action`."""

    drill: DrillRow
    statement: Markup
    objectives: tuple[str, ...]
    out_of_scope: tuple[str, ...]
    needs: tuple[Link, ...]  # cards worth reading first
    source: str  # the newest own source, else the starter, else what was refused just now
    starter: str
    from_starter: bool
    lanes: tuple[LaneChoice, ...]
    token: str  # makes a double click one submission
    action: str
    source_limit: int  # bytes
    history: tuple[HistoryRow, ...]  # own submissions to this drill, newest first, at most ten
    problems: Mapping[str, str] = field(default_factory=dict)  # by field; `form` is about the whole
    stylesheets: tuple[str, ...] = ()  # what the statement's formulas need
    opens_with: str = ""  # what opens work on it, in one sentence; empty when it is open
