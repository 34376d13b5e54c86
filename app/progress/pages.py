"""The typed contexts of `app/templates/progress/*.html`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from markupsafe import Markup


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
class Score:
    """What a person gave last for a drill's outline or a track's capstone."""

    kind: str  # "drill" or "track"
    id: str
    points: int
    possible: int
    at: datetime
    href: str  # the work with its rubric and comments
    title: str = ""  # of the drill or track; filled by `overview`


@dataclass(frozen=True)
class Beginning:
    """What to begin with, for whoever has read and passed nothing."""

    title: str
    href: str
    why: str


@dataclass(frozen=True)
class ProgressPage:
    """`progress/show.html`."""

    topics: tuple[ProgressGroup, ...]
    tracks: tuple[ProgressGroup, ...]
    drills_passed: int
    items_read: int
    scores: tuple[Score, ...] = ()  # newest first
    begin: Beginning | None = None  # None once anything is read or passed


@dataclass(frozen=True)
class BookmarkLine:
    """Something that the learner marked."""

    kind: str
    id: str
    title: str
    href: str
    at: datetime


@dataclass(frozen=True)
class BookmarksPage:
    """`progress/bookmarks.html`. Each line posts `kind`, `id`, `next` to `/bookmarks` to take the mark away."""

    lines: tuple[BookmarkLine, ...]  # newest first


@dataclass(frozen=True)
class KeptNote:
    """A note in the list of all."""

    kind: str
    title: str
    href: str  # of the item; empty when it is gone
    edit: str
    html: Markup
    saved_at: datetime


@dataclass(frozen=True)
class NotesPage:
    """`progress/notes.html`."""

    notes: tuple[KeptNote, ...]  # saved last first
    stylesheets: tuple[str, ...] = ()


@dataclass(frozen=True)
class NotePage:
    """`progress/note.html`. Posts `text` and `version` to its own address.

    `other` is what is kept now, when that is not what this one was written on; None otherwise.
    """

    kind: str
    id: str
    title: str
    href: str  # of the item; empty when it is gone
    text: str
    version: int  # of the note that a save replaces; 0 for none
    shown: Markup
    other: str | None
    problems: Mapping[str, str]
    most: int  # characters
    stylesheets: tuple[str, ...] = ()
