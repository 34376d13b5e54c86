"""The typed contexts of `app/templates/course/*.html`: one frozen dataclass a template.

Template            Context         Address
course/topic.html   TopicPage       /topics/{id}
course/tag.html     TagPage         /tags/{tag}
course/card.html    CardPage        /cards/{id}
course/question.html QuestionPage   /questions/{id}
course/tracks.html  TracksPage      /tracks
course/track.html   TrackPage       /tracks/{id}
course/glossary.html GlossaryPage   /glossary
course/unlock.html  UnlockPage      /unlock
course/search.html  SearchPage      /search
course/_preview.html Preview        /previews/{cards|questions|tracks|drills|terms}/{id}

`Markup` fields are ready HTML (see the class names in `app/course/render.py`); everything else is escaped.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from markupsafe import Markup

from app.course.models import Criterion, Kind, Level, Prompt, Section, Source, Term
from app.course.passages import Shelf
from app.course.search import Piece


class State(StrEnum):
    """Where this reader stands with an item. `LOCKED` concerns the guarded part, never the title."""

    NEW = "new"
    READ = "read"
    PASSED = "passed"
    LOCKED = "locked"


@dataclass(frozen=True, slots=True)
class ItemLink:
    """A line in a list: enough to say what waits behind the address and where the reader stands with it.

    `opens_with` says what opens a locked item, in one plain sentence, and is empty otherwise.
    """

    kind: Kind
    id: str
    title: str
    href: str
    level: Level
    minutes: int
    summary: str
    topic_id: str
    topic_name: str
    tags: tuple[str, ...]
    state: State
    opens_with: str
    why: str = ""  # why it is next, in a few words; empty in a list that gives no reasons


@dataclass(frozen=True, slots=True)
class TopicName:
    """A topic as a crumb or a navigation entry."""

    id: str
    name: str
    href: str


@dataclass(frozen=True, slots=True)
class TagName:
    """A tag as a chip."""

    id: str
    href: str


@dataclass(frozen=True, slots=True)
class TopicPage:
    topic: TopicName
    summary: Markup
    outcomes: tuple[Markup, ...]
    tracks: tuple[ItemLink, ...]
    cards: tuple[ItemLink, ...]
    questions: tuple[ItemLink, ...]
    drills: tuple[ItemLink, ...]
    unlocked: int  # questions that this reader can read in full
    done: int  # items read or passed
    total: int
    up_next: ItemLink | None
    topics: tuple[TopicName, ...]  # all, in course order
    stylesheets: tuple[str, ...]  # what its formulas need; print each in the head


@dataclass(frozen=True, slots=True)
class TracksPage:
    tracks: tuple[ItemLink, ...]
    topics: tuple[TopicName, ...]  # all, in course order


@dataclass(frozen=True, slots=True)
class TagPage:
    """`unlocked` of `questions` can be read in full by this reader."""

    tag: TagName
    questions: tuple[ItemLink, ...]
    unlocked: int
    cards: tuple[ItemLink, ...]  # the concepts behind the tag
    tracks: tuple[ItemLink, ...]


@dataclass(frozen=True, slots=True)
class CardPage:
    kind: Kind
    id: str
    href: str
    title: str
    description: str
    topic: TopicName
    level: Level
    minutes: int
    tags: tuple[TagName, ...]
    state: State
    draft: bool
    front: Markup
    sections: tuple[Section, ...]
    prompts: tuple[Prompt, ...]
    sources: tuple[Source, ...]
    requires: tuple[ItemLink, ...]
    drills: tuple[ItemLink, ...]
    questions: tuple[ItemLink, ...]  # that build on this card
    related: tuple[ItemLink, ...]
    up_next: ItemLink | None
    stylesheets: tuple[str, ...]  # what its formulas need; print each in the head


@dataclass(frozen=True, slots=True)
class Answer:
    """The guarded half of a question."""

    sections: tuple[Section, ...]  # the first one's title is empty: print no heading for it
    note: Markup
    rubric: tuple[Criterion, ...]
    points: int  # the rubric's total


@dataclass(frozen=True, slots=True)
class OwnAnswer:
    """What the reader answered, kept for them alone."""

    text: str
    html: Markup  # cleaned
    saved_at: datetime
    scores: Mapping[str, int]  # by criterion; empty until they scored it
    scored_at: datetime | None


@dataclass(frozen=True, slots=True)
class QuestionPage:
    """`answer` is None when this reader may not see it; then `opens_with` says what opens it."""

    kind: Kind
    id: str
    href: str
    title: str
    description: str
    topic: TopicName
    level: Level
    minutes: int
    tags: tuple[TagName, ...]
    state: State
    draft: bool
    question: Markup
    teaser: Markup
    answer: Answer | None
    opens_with: str
    sources: tuple[Source, ...]
    concepts: tuple[ItemLink, ...]  # ranked by overlap
    own: OwnAnswer | None
    drills: tuple[ItemLink, ...]
    related: tuple[ItemLink, ...]
    up_next: ItemLink | None
    stylesheets: tuple[str, ...]  # what its formulas need; print each in the head


@dataclass(frozen=True, slots=True)
class TrackPage:
    kind: Kind
    id: str
    href: str
    title: str
    description: str
    topic: TopicName
    level: Level
    minutes: int
    tags: tuple[TagName, ...]
    state: State  # of the text; the steps have their own
    draft: bool
    opening: Markup
    sections: tuple[Section, ...]
    steps: tuple[ItemLink, ...]
    done: int  # steps read or passed
    prompts: tuple[Prompt, ...]
    sources: tuple[Source, ...]
    drills: tuple[ItemLink, ...]
    rubric: tuple[Criterion, ...]
    points: int
    up_next: ItemLink | None
    stylesheets: tuple[str, ...]  # what its formulas need; print each in the head


@dataclass(frozen=True, slots=True)
class UnlockedLine:
    """Something that was opened to this reader. `target` is `course`, `topic:ID`, `question:ID` or `drill:ID`."""

    target: str
    title: str
    href: str
    source: str  # "code", "grant" or "purchase"
    at: datetime


@dataclass(frozen=True, slots=True)
class UnlockPage:
    """Posts `code` to `/unlock`. `just_opened` is what the last code opened."""

    code: str
    problems: Mapping[str, str]
    unlocked: tuple[UnlockedLine, ...]  # newest first
    just_opened: UnlockedLine | None


@dataclass(frozen=True, slots=True)
class GlossaryPage:
    terms: tuple[Term, ...]  # by name
    stylesheets: tuple[str, ...]  # what its formulas need; print each in the head


@dataclass(frozen=True, slots=True)
class Found:
    """One line of the results. `heading` and the anchor in `href` name a place in the item below its head."""

    shelf: Shelf
    title: tuple[Piece, ...]
    href: str
    heading: str
    snippet: tuple[Piece, ...]
    item: ItemLink | None  # for what has a level and a state


@dataclass(frozen=True, slots=True)
class SearchPage:
    query: str  # as typed, cut to what is read
    found: tuple[Found, ...]
    tags: tuple[TagName, ...]  # to look around in, when nothing is asked or found


@dataclass(frozen=True, slots=True)
class Preview:
    """What a link leads to. `level` and `minutes` are empty for terms."""

    shelf: Shelf
    title: str
    text: str
    level: Level | None
    minutes: int
    state: State
