"""The typed contexts of `app/templates/progress/*.html`."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class Standing(StrEnum):
    """How far the learner is with one item."""

    NEW = "new"
    READ = "read"
    TRIED = "tried"
    PASSED = "passed"
    LOCKED = "locked"  # not begun, and closed to this learner


@dataclass(frozen=True)
class ProgressItem:
    """A card, question or drill."""

    kind: str  # "card", "question", "drill"
    id: str
    title: str
    href: str
    standing: Standing
    at: datetime | None  # when it was read or passed
    opens_with: str = ""  # what opens it while it is locked


@dataclass(frozen=True)
class ProgressGroup:
    """A topic or a track with its items in order."""

    id: str
    title: str
    href: str
    done: int  # items read or passed
    total: int
    items: tuple[ProgressItem, ...]


@dataclass(frozen=True)
class ProgressPage:
    """`progress/show.html`."""

    topics: tuple[ProgressGroup, ...]
    tracks: tuple[ProgressGroup, ...]
    drills_passed: int
    items_read: int
