"""What the compiled course is made of: frozen data, no behaviour beyond addresses.

Reading order: `Section`, the parts an item is built from, `Card`, `Question`, `Track`, `Topic`, `Term`, `Policy`.
Every field of type `Markup` is HTML that the compiler made from authored Markdown; templates print it as it is.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum
from pathlib import Path

from markupsafe import Markup


class Kind(StrEnum):
    """What an item of the course is. The value is also the first part of its address."""

    CARD = "card"
    QUESTION = "question"
    TRACK = "track"
    DRILL = "drill"

    @property
    def plural(self) -> str:
        return f"{self.value}s"


class Level(StrEnum):
    FOUNDATIONAL = "Foundational"
    CORE = "Core"
    ADVANCED = "Advanced"


@dataclass(frozen=True, slots=True)
class Section:
    """One headed part of a page. `id` is the anchor, unique in its page."""

    id: str
    title: str
    html: Markup
    text: str = ""  # its plain words, for search


@dataclass(frozen=True, slots=True)
class Source:
    """A primary source: what it is, where it is, and what to read in it. Cited as `#source-{id}`."""

    id: str
    authors: str
    title: str
    year: int
    url: str
    read: Markup


@dataclass(frozen=True, slots=True)
class Prompt:
    """One idea to recall. `id` never changes once published: review history hangs on it."""

    id: str
    ask: Markup
    answer: Markup


@dataclass(frozen=True, slots=True)
class Criterion:
    """One line of a rubric: what earns the points, and how many."""

    id: str
    points: int
    text: Markup


@dataclass(frozen=True, slots=True)
class Link:
    """A reference to another item of the course or to a drill. `id` is unique within `kind`."""

    kind: Kind
    id: str

    @property
    def href(self) -> str:
        return f"/{self.kind.plural}/{self.id}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """What cards, questions and tracks share. `text` is the plain text for search, without the guarded parts."""

    id: str
    title: str
    topic: str
    level: Level
    minutes: int
    tags: tuple[str, ...]
    summary: str  # one plain sentence for lists and for the page's description
    requires: tuple[Link, ...]
    drills: tuple[str, ...]
    sources: tuple[Source, ...]
    draft: bool
    published: date | None
    text: str
    path: str  # the file it came from, relative to the content folder


@dataclass(frozen=True, slots=True, kw_only=True)
class Card(Item):
    """A concept. The front stands alone; the back holds the sections."""

    front: Markup
    text_front: str  # its plain words
    sections: tuple[Section, ...]
    prompts: tuple[Prompt, ...]

    @property
    def link(self) -> Link:
        return Link(Kind.CARD, self.id)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question(Item):
    """An interview-grade question. `answer`, `note` and `rubric` are guarded by the access policy."""

    question: Markup
    teaser: Markup
    answer: tuple[Section, ...]  # the first section's title is empty: the answer's opening
    note: Markup  # the editor's note: what is scored
    rubric: tuple[Criterion, ...]
    concepts: tuple[str, ...]  # card ids, in the author's order

    @property
    def link(self) -> Link:
        return Link(Kind.QUESTION, self.id)


@dataclass(frozen=True, slots=True, kw_only=True)
class Track(Item):
    """A path of study. `steps` are walked in order; `milestones` are what the capstone must show."""

    opening: Markup
    text_front: str  # its plain words
    sections: tuple[Section, ...]
    steps: tuple[Link, ...]
    prompts: tuple[Prompt, ...]
    rubric: tuple[Criterion, ...]  # how a person scores the capstone

    @property
    def link(self) -> Link:
        return Link(Kind.TRACK, self.id)


@dataclass(frozen=True, slots=True)
class Topic:
    """A shelf of the course. The three tuples hold ids in reading order."""

    id: str
    name: str
    summary: Markup
    outcomes: tuple[Markup, ...]  # what you will be able to do
    tracks: tuple[str, ...]
    cards: tuple[str, ...]
    questions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Term:
    """A glossary entry. `see` is the card that teaches it, when there is one."""

    id: str
    name: str
    html: Markup
    see: Link | None
    text: str = ""  # its plain words

    @property
    def href(self) -> str:
        return f"/glossary#term-{self.id}"


@dataclass(frozen=True, slots=True)
class DrillRef:
    """What the course knows of a drill: enough to list it. The drill itself lives in its own folder."""

    id: str
    title: str
    summary: str
    kind: str
    level: Level
    topic: str
    minutes: int
    tags: tuple[str, ...]
    cards: tuple[str, ...]
    questions: tuple[str, ...]
    statement: str  # Markdown; the snapshot holds its HTML
    editorial: str = ""  # the same; empty while none is written
    folder: Path = field(default=Path(), repr=False)  # where its files lie, for what the editorial shows of them
    needs: tuple[str, ...] = ()  # drills to pass first

    @property
    def link(self) -> Link:
        return Link(Kind.DRILL, self.id)


class Access(StrEnum):
    """Who may read an answer without an unlock."""

    OPEN = "open"
    MEMBERS = "members"
    LOCKED = "locked"


@dataclass(frozen=True, slots=True)
class Policy:
    """Per topic the first `open_answers` answers are for everyone, the next `member_answers` for the signed in."""

    open_answers: int
    member_answers: int
    overrides: tuple[tuple[str, Access], ...]  # question id → access
    drills_by_needs: bool = False  # a drill opens once the drills that it needs are passed
    drill_overrides: tuple[tuple[str, Access], ...] = ()  # drill id → access to work on it
