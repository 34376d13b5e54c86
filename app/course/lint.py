"""What only shows when everything is known: references between files, order, cycles, what nobody can reach, leaks.

Each rule is one small function that yields problems; `lint` runs them all.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from app.course.course_file import FILE
from app.course.folder import GLOSSARY, Folder
from app.course.items import Built
from app.course.models import Card, DrillRef, Item, Kind, Link, Question, Track
from app.course.problems import Problem
from app.course.resolve import SELF
from app.course.schema import CourseMeta
from app.course.scope import Page, Scope
from app.course.source import Document, Loc

LEAK_WORDS = 9  # a run this long that a free part shares with a guarded one is a leak, not a coincidence


@dataclass(frozen=True, slots=True)
class Course:
    """Everything that the rules look at. `pages` holds every rendered file, by name."""

    meta: CourseMeta
    folder: Folder
    scope: Scope
    drills: Mapping[str, DrillRef]
    cards: Sequence[Built[Card]]
    questions: Sequence[Built[Question]]
    tracks: Sequence[Built[Track]]
    pages: Mapping[str, Page]

    @property
    def built(self) -> list[Built[Item]]:
        return [*self.cards, *self.questions, *self.tracks]


def lint(course: Course) -> list[Problem]:
    """Every problem that the rules find, in no order."""
    rules = (topics, shelves, references, steps, aliases, cycles, anchors, unused, leaks, overrides)
    return [problem for rule in rules for problem in rule(course)]


def topics(course: Course) -> Iterator[Problem]:
    """Every item names a topic that exists; topic ids are unique."""
    ids = [topic.id for topic in course.meta.topics]
    for index, name in enumerate(ids):
        if name in ids[:index]:
            line = course.folder.lines.of(("topics", index, "id"))
            yield Problem(FILE, line, "duplicate-id", f"the topic '{name}' stands twice", "merge the two")
    for built in course.built:
        if built.item.topic not in ids:
            line = built.document.line_of(("topic",))
            what = f"there is no topic '{built.item.topic}'"
            yield Problem(built.document.file, line, "topic", what, f"use one of: {', '.join(ids)}")


def shelves(course: Course) -> Iterator[Problem]:
    """Every item stands on the shelf of its topic in course.toml, once; and everything on a shelf exists."""
    listed: dict[Link, str] = {}
    for index, topic in enumerate(course.meta.topics):
        for key, kind in (("tracks", Kind.TRACK), ("cards", Kind.CARD), ("questions", Kind.QUESTION)):
            line = course.folder.lines.of(("topics", index, key))
            for name in getattr(topic, key):
                link = Link(kind, name)
                if link not in course.scope.items:
                    what = f"there is no {kind.value} '{name}'"
                    yield Problem(FILE, line, "reference", what, "mend the id or add the file")
                elif link in listed:
                    what = f"the {kind.value} '{name}' stands on two shelves"
                    yield Problem(FILE, line, "duplicate-id", what, "list it once")
                listed[link] = topic.id
    for built in course.built:
        link = _link(built.item)
        if link not in listed:
            what = f"the {link.kind.value} '{link.id}' is listed nowhere: nobody can reach it"
            fix = f"add it to {link.kind.plural} of a topic in {FILE}"
            yield Problem(built.document.file, 1, "unreachable", what, fix)
        elif listed[link] != built.item.topic:
            what = f"'{link.id}' says topic '{built.item.topic}', {FILE} lists it under '{listed[link]}'"
            yield Problem(built.document.file, built.document.line_of(("topic",)), "topic", what, "make them agree")


def references(course: Course) -> Iterator[Problem]:
    """Required cards and concepts exist, and what a drill says it serves."""
    for built in course.built:
        for index, link in enumerate(built.item.requires):
            if link not in course.scope.items:
                yield _dangling(built.document, ("requires", index), "card", link.id)
    for drill in course.drills.values():
        file = f"drills/{drill.id}/drill.toml"
        if drill.topic not in course.scope.topics:
            yield Problem(file, 1, "topic", f"there is no topic '{drill.topic}'", "name one of course.toml")
        named = [Link(Kind.CARD, name) for name in drill.cards]
        named += [Link(Kind.QUESTION, name) for name in drill.questions]
        for link in named:
            if link not in course.scope.items:
                what = f"there is no {link.kind.value} '{link.id}'"
                yield Problem(file, 1, "reference", what, "mend the id or add the file")
    for question in course.questions:
        for index, name in enumerate(question.item.concepts):
            if Link(Kind.CARD, name) not in course.scope.items:
                yield _dangling(question.document, ("concepts", index), "card", name)


def steps(course: Course) -> Iterator[Problem]:
    """Every step of a track exists and is taken once."""
    for track in course.tracks:
        for index, link in enumerate(track.item.steps):
            if link not in course.scope.items:
                yield _dangling(track.document, ("steps", index), link.kind.value, link.id)
            if link in track.item.steps[:index]:
                line = track.document.line_of(("steps", index))
                what = f"the step {link.kind.value}:{link.id} stands twice"
                yield Problem(track.document.file, line, "duplicate-id", what, "take it once")


def aliases(course: Course) -> Iterator[Problem]:
    """An old id redirects to one item, and no item of the same kind goes by it today."""
    taken: dict[Link, str] = {}
    for authored in course.folder.items:
        for index, name in enumerate(authored.meta.aliases):
            old = Link(authored.link.kind, name)
            line = authored.document.line_of(("aliases", index))
            if old in course.scope.items:
                what = f"the old id '{name}' is in use by another {old.kind.value}"
                yield Problem(authored.document.file, line, "duplicate-id", what, "remove the alias")
            elif old in taken:
                what = f"'{taken[old]}' also says that it was '{name}'"
                yield Problem(authored.document.file, line, "duplicate-id", what, "keep one of the two aliases")
            taken[old] = authored.document.id


def cycles(course: Course) -> Iterator[Problem]:
    """No card requires itself, however long the way round."""
    needs = {built.item.id: [link.id for link in built.item.requires] for built in course.cards}
    for built in course.cards:
        way = _way_back(built.item.id, needs)
        if way and min(way) == built.item.id:  # report each circle once, at its first card
            line = built.document.line_of(("requires",))
            what = f"a circle of prerequisites: {' → '.join(way)}"
            yield Problem(built.document.file, line, "cycle", what, "remove one of the requirements")


def _way_back(start: str, needs: Mapping[str, Sequence[str]]) -> list[str]:
    """The shortest way from a card to itself along requirements, or nothing."""
    queue: list[list[str]] = [[start]]
    seen: set[str] = set()
    while queue:
        path = queue.pop(0)
        for following in needs.get(path[-1], ()):
            if following == start:
                return [*path, start]
            if following not in seen:
                seen.add(following)
                queue.append([*path, following])
    return []


def anchors(course: Course) -> Iterator[Problem]:
    """A link to a place inside a page names a place that is there."""
    files = {_link(built.item): built.document.file for built in course.built}
    for page in course.pages.values():
        for mention in page.mentions:
            target = page.file if mention.link == SELF else files.get(mention.link)
            if not mention.anchor or target is None:
                continue
            places = course.pages[target].anchors | {f"source-{name}" for name in course.pages[target].sources}
            if mention.anchor not in places:
                what = f"there is no place '#{mention.anchor}' in {target}"
                fix = f"use one of: {', '.join(sorted(places)) or 'none'}"
                yield Problem(mention.file, mention.line, "anchor", what, fix)


def unused(course: Course) -> Iterator[Problem]:
    """Every figure, listing and glossary term is shown or linked somewhere."""
    if len(course.folder.links) != len(course.folder.items):
        return  # an item could not be rendered, so nobody knows what it would have used
    pages = course.pages.values()
    shown = {name for page in pages for name in page.figures}
    listed = {name for page in pages for name in page.listings | page.quoted}
    linked = {name for page in pages for name in page.terms}
    for name in course.scope.figures.keys() - shown:
        yield Problem(f"figures/{name}.svg", 1, "unreachable", f"no page shows '{name}'", "show it or remove it")
    for name in course.scope.listings.keys() - listed:
        yield Problem(f"listings/{name}.py", 1, "unreachable", f"no page uses '{name}'", "use it or remove it")
    for name in course.scope.terms.keys() - linked:
        line = _line_of(course.folder.glossary, f"## {course.scope.terms[name]}")
        what = f"no page links to the term '{name}'"
        yield Problem(GLOSSARY, line, "unreachable", what, f"link to it: term:{name}")


def leaks(course: Course) -> Iterator[Problem]:
    """A free part of a question does not give away a run of the guarded answer."""
    for built in course.questions:
        free, guarded = _runs(built.open_text), _runs(built.guarded_text)
        for run in sorted(free.keys() & guarded.keys()):
            what = f"the free part gives away the answer's words: '{' '.join(run)}'"
            yield Problem(built.document.file, built.document.body_line, "leak", what, "say it in one place only")
            break


def overrides(course: Course) -> Iterator[Problem]:
    """An access override names a question, and one of the drills names a drill."""
    access = course.meta.access
    for table, kind, names in (
        ("overrides", Kind.QUESTION, access.overrides),
        ("drills", Kind.DRILL, access.drills),
    ):
        for name in names:
            if Link(kind, name) not in course.scope.items:
                line = course.folder.lines.of(("access", table, name))
                what = f"there is no {kind.value} '{name}'"
                yield Problem(FILE, line, "reference", what, "mend the id or remove the line")


def _runs(text: str) -> dict[tuple[str, ...], int]:
    words = re.findall(r"[\w-]+", text.lower())
    return {tuple(words[i : i + LEAK_WORDS]): i for i in range(len(words) - LEAK_WORDS + 1)}


def _link(item: Item) -> Link:
    kinds: dict[type[Item], Kind] = {Card: Kind.CARD, Question: Kind.QUESTION, Track: Kind.TRACK}
    return Link(kinds[type(item)], item.id)


def _dangling(document: Document, loc: Loc, kind: str, name: str) -> Problem:
    what = f"there is no {kind} '{name}'"
    return Problem(document.file, document.line_of(loc), "reference", what, "mend the id or add the file")


def _line_of(text: str, line: str) -> int:
    return next((number for number, each in enumerate(text.split("\n"), 1) if each.strip() == line), 1)
