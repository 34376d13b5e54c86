"""The typed contexts of `app/templates/practice/*.html`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from markupsafe import Markup

from app.course.models import Section
from app.practice.diff import Diff
from app.practice.evidence import Facts
from app.practice.hints import Ladder
from app.practice.models import Cause
from app.practice.texts import Text
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
    standing: Standing  # NEW, TRIED, PASSED or LOCKED
    refused: int = 0  # wrong kernels that the publication gate saw refused
    accepted: int = 0  # right kernels of other construction that it saw accepted


@dataclass(frozen=True)
class WelcomePage:
    """`practice/welcome.html`: the home of a visitor."""

    topics: tuple[Link, ...]
    tracks: tuple[Link, ...]
    drills: tuple[DrillRow, ...]
    first: DrillRow | None = None  # the one to begin with


@dataclass(frozen=True)
class HomePage:
    """`practice/home.html`: the home of somebody signed in."""

    resume: Link | None  # where they were
    next: tuple[Link, ...]  # up next, each with why
    recent: tuple[HistoryRow, ...]  # newest first, at most five
    topics: tuple[ProgressGroup, ...]
    due: int = 0  # reviews left today


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
class DraftRow:
    """One version of a draft."""

    number: int
    saved_at: datetime
    cause: Cause
    lines: int
    size: int  # bytes
    is_draft: bool


@dataclass(frozen=True)
class WorkspacePage:
    """`practice/workspace.html`. Posts `source`, `lane`, `token` to `action` or `run_action`; to `draft_action`
    also `base`, the number of the draft's version that the text was written on.
    """

    drill: DrillRow
    statement: Markup
    objectives: tuple[str, ...]
    out_of_scope: tuple[str, ...]
    needs: tuple[Link, ...]  # cards worth reading first
    source: str  # what was refused just now, else the newest of draft, submissions and runs, else the starter
    starter: str
    from_starter: bool
    lanes: tuple[LaneChoice, ...]
    token: str  # makes a double click one submission
    action: str
    run_action: str  # runs the visible cases; no attempt
    draft_action: str  # keeps a draft
    source_limit: int  # bytes
    owner: str  # whose drafts these are, so that a browser keeps those of two people apart; empty for a visitor
    draft: DraftRow | None
    from_draft: bool  # `source` is the draft
    just_saved: bool  # a draft was saved by the request before, without JavaScript
    may_run: bool  # without an account, the operator decides
    hints: Ladder
    modes: tuple[tuple[str, str], ...]  # what can be predicted before the first run; empty after it
    editorial: bool  # whether there is one
    editorial_opens_with: str  # empty when it is open
    editor_keys: str  # "default" or "vim"
    history: tuple[HistoryRow, ...]  # own submissions to this drill, newest first, at most ten
    problems: Mapping[str, str] = field(default_factory=dict)  # by field; `form` is about the whole
    stylesheets: tuple[str, ...] = ()  # what the statement's formulas need
    opens_with: str = ""  # what opens work on it, in one sentence; empty when it is open


@dataclass(frozen=True)
class DraftsPage:
    """`practice/drafts.html`: the versions of a draft, newest first."""

    drill: str
    drill_title: str
    rows: tuple[DraftRow, ...]


@dataclass(frozen=True)
class DraftVersionPage:
    """`practice/draft.html`: one version beside the draft. `stale`: the answer to a save that came late."""

    drill: str
    drill_title: str
    row: DraftRow
    draft: DraftRow
    diff: Diff
    inline: bool
    stale: bool = False


@dataclass(frozen=True)
class DiffPage:
    """`practice/diff.html`: two texts of a drill beside each other, or below each other when `inline`."""

    drill: str
    drill_title: str
    old: Text
    new: Text
    diff: Diff
    inline: bool
    choices: tuple[tuple[str, str], ...]  # what else can be compared, as (ref, name)


@dataclass(frozen=True)
class EditorialPage:
    """`practice/editorial.html`. While `opens_with` says what opens it, nothing of the editorial is here."""

    drill: str
    drill_title: str
    opens_with: str
    sections: tuple[Section, ...]
    stylesheets: tuple[str, ...]


@dataclass(frozen=True)
class EvidencePage:
    """`practice/evidence.html`. `mine` could not be kept: the notes were saved elsewhere meanwhile."""

    facts: Facts
    notes: Markup | None
    mine: str | None = None
