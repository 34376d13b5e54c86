"""What can be searched: the course cut into passages, each with the address it is found under and who may find it.

Nothing is left out here for being guarded: a passage says that it is, and `search.shows` asks the reader's view.
That holds for the answers of questions and for the editorials of drills, which are for whoever passed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from app.course.models import Card, DrillRef, Item, Kind, Link, Question, Section, Term, Topic, Track


class Shelf(StrEnum):
    """What kind of thing a search finds. The value is the word that a reader sees."""

    CONCEPT = "concept"
    QUESTION = "question"
    TRACK = "track"
    DRILL = "drill"
    TERM = "term"
    TOPIC = "topic"
    TAG = "tag"


SHELVES = {Kind.CARD: Shelf.CONCEPT, Kind.QUESTION: Shelf.QUESTION, Kind.TRACK: Shelf.TRACK}
LOOSE = re.compile(r" (?=[.,;:)])")
SOURCES = "Sources"  # the heading of the passage that lists them


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of text under one address. `anchor` and `heading` are empty for the head of an item.

    `link` is the item or drill that it belongs to, None for terms, topics and tags. `guarded` marks a part of a
    question's answer or of a drill's editorial.
    """

    shelf: Shelf
    id: str
    title: str
    href: str
    heading: str
    text: str
    tags: tuple[str, ...] = ()
    link: Link | None = None
    guarded: bool = False

    @property
    def page(self) -> str:
        """The address without the place in it."""
        return self.href if self.shelf is Shelf.TERM else self.href.partition("#")[0]

    @property
    def owner(self) -> tuple[Shelf, str]:
        return self.shelf, self.id


def of_card(card: Card) -> Iterator[Passage]:
    yield _head(card, card.link, card.text_front)
    yield from _sections(card, card.link, card.sections)
    yield _sources(card, card.link)


def of_question(question: Question) -> Iterator[Passage]:
    yield _head(question, question.link, question.text)
    yield from _sections(question, question.link, question.answer, guarded=True)
    yield _sources(question, question.link, guarded=True)


def of_track(track: Track) -> Iterator[Passage]:
    yield _head(track, track.link, track.text_front)
    yield from _sections(track, track.link, track.sections)
    yield _sources(track, track.link)


def of_drill(drill: DrillRef, statement: str) -> Passage:
    text = f"{drill.summary} {LOOSE.sub('', statement)}"
    return Passage(Shelf.DRILL, drill.id, drill.title, drill.link.href, "", text, drill.tags, drill.link)


def of_editorial(drill: DrillRef, sections: tuple[Section, ...]) -> Iterator[Passage]:
    for section in sections:
        href, heading = f"{drill.link.href}/editorial#{section.id}", f"Editorial: {section.title}"
        yield Passage(Shelf.DRILL, drill.id, drill.title, href, heading, section.text, (), drill.link, guarded=True)


def of_term(term: Term) -> Passage:
    return Passage(Shelf.TERM, term.id, term.name, term.href, "", term.text)


def of_topic(topic: Topic) -> Passage:
    text = " ".join(str(each.striptags()) for each in (topic.summary, *topic.outcomes))
    return Passage(Shelf.TOPIC, topic.id, topic.name, f"/topics/{topic.id}", "", text)


def of_tags(*shelves: Mapping[str, Item]) -> Iterator[Passage]:
    names = sorted({tag for shelf in shelves for item in shelf.values() for tag in item.tags})
    return (Passage(Shelf.TAG, name, name, f"/tags/{name}", "", "") for name in names)


def _head(item: Item, link: Link, text: str) -> Passage:
    whole = f"{item.summary} {text}"
    return Passage(SHELVES[link.kind], item.id, item.title, link.href, "", whole, item.tags, link)


def _sections(item: Item, link: Link, sections: tuple[Section, ...], *, guarded: bool = False) -> Iterator[Passage]:
    for section in sections:
        href = f"{link.href}#{section.id}"
        shelf, heading = SHELVES[link.kind], section.title or "The answer"
        yield Passage(shelf, item.id, item.title, href, heading, section.text, (), link, guarded)


def _sources(item: Item, link: Link, *, guarded: bool = False) -> Passage:
    text = " ".join(f"{each.authors}: {each.title}, {each.year}." for each in item.sources)
    shelf = SHELVES[link.kind]
    return Passage(shelf, item.id, item.title, f"{link.href}#sources", SOURCES, text, (), link, guarded)
