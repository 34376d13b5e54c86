"""What `submissions/_feedback.html` shows: a person's grades of one piece of work and of those before it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from markupsafe import Markup


@dataclass(frozen=True)
class MarkLine:
    """One criterion with what was given for it."""

    text: str
    points: int
    possible: int
    item: str
    comment: Markup  # cleaned


@dataclass(frozen=True)
class GradeView:
    """A grade as its learner reads it."""

    title: str  # what was graded: "Version 2", "Submission 3"
    href: str
    version: int  # above 1: it was scored again, because of `reason`
    grader: str
    graded_at: datetime
    points: int
    possible: int
    lines: tuple[MarkLine, ...]
    comment: Markup  # cleaned
    reason: str


@dataclass(frozen=True)
class Feedback:
    """What people said: about this work, and about earlier ones of the same learner for the same subject."""

    grade: GradeView | None  # None while it waits for a person
    earlier: tuple[GradeView, ...]  # newest first
