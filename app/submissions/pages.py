"""The typed contexts of `app/templates/submissions/*.html`."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from app.course.pages import ItemLink
from app.submissions.grades.pages import Feedback
from app.submissions.models import State
from app.submissions.predictions import Predicted
from grader.verdict import CaseResult, Lane, Outcome, Verdict


@dataclass(frozen=True)
class LiveFragment:
    """`submissions/_live.html`: a submission without a verdict yet, or a cancelled one.

    The stream sends it as event `progress`; its last event is `verdict` (`_verdict.html`) or `cancelled` (this).
    """

    submission: str
    state: State
    phase: str  # one plain sentence: "Waiting for a worker.", "Case 3 of 17."
    queue_position: int | None  # from 1, while queued
    done: int  # cases decided so far
    cases: int  # 0 until the run has started
    results: tuple[CaseResult, ...]  # hidden ones are stripped
    can_cancel: bool
    stream: str  # URL of the events
    last_event: int  # the stream continues after this one: send it as `?after=`
    trial: bool = False  # a run apart from submitting


@dataclass(frozen=True)
class VerdictFragment:
    """`submissions/_verdict.html`. Hidden cases carry only a name, `visible=False` and an outcome."""

    submission: str
    drill: str
    drill_title: str
    verdict: Verdict
    source_lines: tuple[str, ...]  # the learner's lines, to show the one that a case or finding points at
    attempt_spent: bool  # False after a grader problem
    related: tuple[tuple[str, str], ...] = ()  # what is worth reading now, as (title, address)
    trial: bool = False  # a run apart from submitting: hidden cases did not run
    predicted: Predicted | None = None  # what they said before it, when this was the first


@dataclass(frozen=True)
class SubmissionPage:
    """`submissions/show.html`. While `live` is not None the page refreshes itself without JavaScript."""

    id: str
    number: int  # the learner's n-th submission to this drill, from 1
    drill: str
    drill_title: str
    lane: Lane
    submitted_at: datetime
    state: State
    source: str
    live: LiveFragment | None
    verdict: VerdictFragment | None
    newest: str  # id of the newest submission to this drill by the same learner (may be this one)
    by: str | None  # whose it is, when that is not the viewer (admins only)
    trial: bool = False  # a run apart from submitting; it has no number
    feedback: Feedback | None = None  # what people said, of an accepted submission to an outline
    up_next: ItemLink | None = None  # after a drill is passed
    desk_href: str = ""  # where an admin scores it


@dataclass(frozen=True)
class HistoryRow:
    """One line of a history."""

    id: str
    number: int
    drill: str
    drill_title: str
    lane: Lane
    submitted_at: datetime
    state: State
    outcome: Outcome | None  # None until decided
    sentence: str  # the verdict's sentence, or the phase


@dataclass(frozen=True)
class HistoryPage:
    """`submissions/history.html`: mine, newest first."""

    rows: tuple[HistoryRow, ...]
    drill: str | None  # only this drill, when the address says `?drill=`
    older: str | None  # URL of the next page
