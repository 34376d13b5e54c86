"""A content folder to a snapshot, or to every reason why not.

Reading order: `compile_course` → `read_folder` (files) → `_scope` (what has an address) → `items` (HTML) →
`lint` (what only shows when everything is known) → `_snapshot`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple, TypeVar

from markupsafe import Markup

from app.course.authored import render_blocks, render_line, render_sections
from app.course.course_file import FILE, policy_of
from app.course.editorials import Editorials, compile_editorials
from app.course.folder import GLOSSARY, Folder, read_folder
from app.course.formulas import Stylesheet
from app.course.index import build_index
from app.course.items import build_card, build_question, build_track
from app.course.lint import Course, lint
from app.course.models import Card, DrillRef, Item, Kind, Link, Question, Term, Topic, Track
from app.course.passages import (
    Passage,
    of_card,
    of_drill,
    of_editorial,
    of_question,
    of_tags,
    of_term,
    of_topic,
    of_track,
)
from app.course.problems import Problem
from app.course.schema import CourseMeta
from app.course.scope import Page, Scope
from app.course.snapshot import Snapshot

I = TypeVar("I", bound=Item)  # noqa: E741 - the item's type


@dataclass(frozen=True, slots=True)
class Compiled:
    """`snapshot` is None when a problem blocks it: a course is shown whole or not at all.

    Files that nothing uses are problems too, and fail the check, but the course can be shown without them.
    """

    snapshot: Snapshot | None
    problems: tuple[Problem, ...]


def compile_course(root: Path, drills: Mapping[str, DrillRef]) -> Compiled:
    """Compile the folder `root`. Never raises for what an author wrote; `problems` are sorted by file and line."""
    folder = read_folder(root)
    scope = _scope(folder, drills)
    styles = Stylesheet()

    def page(file: str) -> Page:
        return Page(file, scope, styles)

    cards = [build_card(each, page(each.document.file), drills.values()) for each in folder.cards]
    questions = [build_question(each, page(each.document.file), drills.values()) for each in folder.questions]
    tracks = [build_track(each, page(each.document.file)) for each in folder.tracks]
    glossary, front = page(GLOSSARY), page(FILE)
    terms = _terms(folder.glossary, glossary)
    pages = [*(built.page for built in cards), *(built.page for built in questions)]
    pages += [*(built.page for built in tracks), glossary, front]
    statements, contracts = _statements(drills, scope, styles)
    pages += contracts
    editorials = compile_editorials(drills, scope, styles)
    pages += editorials.pages
    topics = () if folder.course is None else _topics(folder.course, folder, front)
    problems = [*folder.problems, *editorials.problems, *(problem for each in pages for problem in each.problems)]
    if folder.course is None:
        return Compiled(None, tuple(sorted(set(problems))))
    by_file = {each.file: each for each in pages}
    problems += lint(Course(folder.course, folder, scope, drills, cards, questions, tracks, by_file))
    if any(problem.blocks for problem in problems):
        return Compiled(None, tuple(sorted(set(problems))))
    shelves = _Shelves(
        _shelved([built.item for built in cards], [topic.cards for topic in topics]),
        _shelved([built.item for built in questions], [topic.questions for topic in topics]),
        _shelved([built.item for built in tracks], [topic.tracks for topic in topics]),
    )
    snapshot = Snapshot(
        title=folder.course.title,
        topics=MappingProxyType({topic.id: topic for topic in topics}),
        cards=shelves.cards,
        questions=shelves.questions,
        tracks=shelves.tracks,
        terms=MappingProxyType({term.id: term for term in terms}),
        drills=MappingProxyType(dict(drills)),
        statements=MappingProxyType(statements),
        editorials=MappingProxyType(dict(editorials.sections)),
        worked=MappingProxyType({page.file: tuple(page.worked.values()) for page in pages if page.worked}),
        search=build_index(
            _passages(shelves, topics, terms, zip(drills.values(), contracts, strict=True), editorials)
        ),
        aliases=MappingProxyType(_aliases(folder)),
        policy=policy_of(folder.course),
        math_css=styles.text(),
        digest=digest(root, drills, repr(editorials.sections)),
    )
    return Compiled(snapshot, tuple(sorted(set(problems))))


def _statements(
    drills: Mapping[str, DrillRef], scope: Scope, styles: Stylesheet
) -> tuple[dict[str, Markup], list[Page]]:
    """What each drill asks, and the pages that it was made from."""
    pages = {name: Page(f"drills/{name}/statement.md", scope, styles, sourced=True) for name in drills}
    html = {name: render_blocks(drill.statement, 1, pages[name]) for name, drill in drills.items()}
    return html, list(pages.values())


class _Shelves(NamedTuple):
    cards: Mapping[str, Card]
    questions: Mapping[str, Question]
    tracks: Mapping[str, Track]


def _passages(
    shelves: _Shelves,
    topics: Iterable[Topic],
    terms: Iterable[Term],
    drills: Iterable[tuple[DrillRef, Page]],
    editorials: Editorials,
) -> Iterator[Passage]:
    """Everything that can be searched, in the order in which equals are listed."""
    yield from (passage for card in shelves.cards.values() for passage in of_card(card))
    yield from (passage for question in shelves.questions.values() for passage in of_question(question))
    yield from (passage for track in shelves.tracks.values() for passage in of_track(track))
    for drill, page in drills:
        yield of_drill(drill, page.take_words())
        yield from of_editorial(drill, editorials.sections.get(drill.id, ()))
    yield from (of_term(term) for term in terms)
    yield from (of_topic(topic) for topic in topics)
    yield from of_tags(*shelves)


def digest(root: Path, drills: Mapping[str, DrillRef], editorials: str = "") -> str:
    """A name for this state of the content: changes when any file, any drill's title or any editorial does."""
    whole = hashlib.sha256(repr(sorted(drills.items())).encode() + editorials.encode())
    for path in sorted(path for path in root.rglob("*") if path.is_file()):
        whole.update(path.relative_to(root).as_posix().encode() + b"\0")
        whole.update(hashlib.sha256(path.read_bytes()).digest())
    return whole.hexdigest()[:16]


def _shelved(items: list[I], shelves: list[tuple[str, ...]]) -> Mapping[str, I]:
    by_id = {item.id: item for item in items}
    return MappingProxyType({name: by_id[name] for shelf in shelves for name in shelf})


def _scope(folder: Folder, drills: Mapping[str, DrillRef]) -> Scope:
    items = {link: link.id for link in folder.links}  # unfit files too, so that one mistake is reported once
    items.update({each.link: each.meta.title for each in folder.items})
    items.update({drill.link: drill.title for drill in drills.values()})
    topics = {} if folder.course is None else {topic.id: topic.name for topic in folder.course.topics}
    tags = frozenset(tag for each in folder.items for tag in each.meta.tags)
    return Scope(items, folder.terms, topics, tags, folder.figures, folder.listings, frozenset(folder.unfit))


def _terms(text: str, page: Page) -> list[Term]:
    """The glossary's entries by name. An entry's card is the first one that it links to."""
    if not text:
        return []
    sections, lines, words = render_sections(text, 1, page)
    if words[""]:
        page.report(1, "glossary", "text above the first term", "open each entry with ## and its name")
    terms = []
    for section in sections[1:]:
        if not words[section.id]:
            page.report(lines[section.id], "glossary", f"'{section.title}' says nothing", "define it in a sentence")
        see = _see(page, lines, section.id)
        terms.append(Term(section.id, section.title, section.html, see, words[section.id]))
    return sorted(terms, key=lambda term: term.name.lower())


def _see(page: Page, lines: Mapping[str, int], name: str) -> Link | None:
    start = lines[name]
    end = min((line for line in lines.values() if line > start), default=10**9)
    cards = (mention for mention in page.mentions if mention.link.kind is Kind.CARD and mention.link.id)
    return next((mention.link for mention in cards if start <= mention.line < end), None)


def _topics(meta: CourseMeta, folder: Folder, page: Page) -> tuple[Topic, ...]:
    def line(*loc: int | str) -> int:
        return folder.lines.of(("topics", *loc))

    def outcomes(index: int, texts: list[str]) -> tuple[Markup, ...]:
        return tuple(render_line(text, line(index, "outcomes"), page) for text in texts)

    return tuple(
        Topic(
            id=topic.id,
            name=topic.name,
            summary=render_line(topic.summary, line(index, "summary"), page),
            outcomes=outcomes(index, topic.outcomes),
            tracks=tuple(topic.tracks),
            cards=tuple(topic.cards),
            questions=tuple(topic.questions),
        )
        for index, topic in enumerate(meta.topics)
    )


def _aliases(folder: Folder) -> dict[Link, Link]:
    return {Link(each.link.kind, old): each.link for each in folder.items for old in each.meta.aliases}
