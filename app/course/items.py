"""One authored file to one item: its body rendered and cut into the parts that its kind must have."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Generic, TypedDict, TypeVar

from markupsafe import Markup

from app.course.authored import render_line, render_sections
from app.course.folder import Authored
from app.course.models import (
    Card,
    Criterion,
    DrillRef,
    Item,
    Kind,
    Level,
    Link,
    Prompt,
    Question,
    Section,
    Source,
    Track,
)
from app.course.schema import CardMeta, CriterionMeta, ItemMeta, PromptMeta, QuestionMeta, TrackMeta
from app.course.scope import Page, parse_link
from app.course.source import Document

I_co = TypeVar("I_co", bound=Item, covariant=True)  # the item's type

FRONT_SENTENCES = (3, 5)
TEASER_SENTENCES = (1, 2)
TRACK_SECTIONS = (
    "mental-model",
    "how-to-study",
    "proof-of-understanding",
    "design-exercise",
    "compare-with",
    "build-evidence",
)
ABBREVIATIONS = re.compile(r"\b(?:e\.g|i\.e|vs|cf|etc|Fig|Eq|al)\.")
YES_NO = re.compile(r"(?:is|are|was|does|do|did|can|could|will|would|should|has|have|must)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Built(Generic[I_co]):
    """An item and what was learnt while it was rendered. `open_text` and `guarded_text` are plain words."""

    item: I_co
    page: Page
    document: Document
    open_text: str
    guarded_text: str


class Common(TypedDict):
    id: str
    title: str
    topic: str
    level: Level
    minutes: int
    tags: tuple[str, ...]
    summary: str
    requires: tuple[Link, ...]
    drills: tuple[str, ...]
    sources: tuple[Source, ...]
    draft: bool
    published: date | None
    path: str


def sentences(text: str) -> int:
    """How many sentences a plain text has. Abbreviations and decimals do not end one."""
    return len(re.findall(r"[.!?](?=[\"')\]]*(?:\s|$))", ABBREVIATIONS.sub("", text)))


def build_card(authored: Authored[CardMeta], page: Page, drills: Iterable[DrillRef]) -> Built[Card]:
    """The front is what stands above the first heading; the sections below are the back."""
    document, meta = authored.document, authored.meta
    page.sources = tuple(source.id for source in meta.sources)
    sections, _, words = render_sections(document.body, document.body_line, page)
    front = words[""]
    _count(page, document.body_line, front, FRONT_SENTENCES, "the front")
    if len(sections) < 2:
        page.report(document.body_line, "section", "the card has no back", "add sections with ## headings")
    text = " ".join(words.values())
    item = Card(
        **_common(document, meta, page, [drill.id for drill in drills if document.id in drill.cards]),
        front=sections[0].html,
        text_front=front,
        sections=tuple(sections[1:]),
        prompts=_prompts(document, meta.prompts, page),
        text=text,
    )
    return Built(item, page, document, text, "")


def build_question(authored: Authored[QuestionMeta], page: Page, drills: Iterable[DrillRef]) -> Built[Question]:
    """Above the first heading the question; then Teaser, Answer and what follows it, and the Editor's note."""
    document, meta = authored.document, authored.meta
    page.sources = tuple(source.id for source in meta.sources)
    sections, lines, words = render_sections(document.body, document.body_line, page)
    by_id = {section.id: section for section in sections}
    order = [section.id for section in sections]
    expected = ("teaser", "the-answer", "editors-note")
    for name in expected:
        if name not in by_id:
            title = {"teaser": "Teaser", "the-answer": "The answer", "editors-note": "Editor's note"}[name]
            page.report(document.body_line, "section", f"the section '{title}' is missing", f"add ## {title}")
    if order[:3] != ["", "teaser", "the-answer"] or order[-1] != "editors-note":
        fix = "order them: the question, Teaser, The answer, its parts, Editor's note"
        page.report(document.body_line, "section", "the sections are not in order", fix)
    _count(page, lines.get("teaser", document.body_line), words.get("teaser", ""), TEASER_SENTENCES, "the teaser")
    empty = Section("", "", Markup(""))
    answer = [section for section in sections if section.id not in ("", "teaser", "editors-note")]
    opened = [replace(each, title="") if each.id == "the-answer" else each for each in answer]
    common = _common(document, meta, page, [drill.id for drill in drills if document.id in drill.questions])
    open_text = " ".join((words[""], words.get("teaser", ""), common["summary"]))
    item = Question(
        **common,
        question=sections[0].html,
        teaser=by_id.get("teaser", empty).html,
        answer=tuple(opened),
        note=by_id.get("editors-note", empty).html,
        rubric=_rubric(document, meta.rubric, page),
        concepts=tuple(meta.concepts),
        text=open_text,
    )
    guarded = " ".join(words.get(section.id, "") for section in answer)
    return Built(item, page, document, open_text, guarded)


def build_track(authored: Authored[TrackMeta], page: Page) -> Built[Track]:
    """A path: an opening, the sections every track has, and steps in order."""
    document, meta = authored.document, authored.meta
    page.sources = tuple(source.id for source in meta.sources)
    sections, _, words = render_sections(document.body, document.body_line, page)
    present = {section.id for section in sections}
    for name in TRACK_SECTIONS:
        if name not in present:
            title = name.replace("-", " ").capitalize()
            page.report(document.body_line, "section", f"the section '{title}' is missing", f"add ## {title}")
    text = " ".join(words.values())
    parsed = [parse_link(step) for step in meta.steps]
    steps = [step[0] for step in parsed if step is not None]
    item = Track(
        **_common(document, meta, page, [link.id for link in steps if link.kind is Kind.DRILL]),
        opening=sections[0].html,
        text_front=words[""],
        sections=tuple(sections[1:]),
        steps=tuple(steps),
        prompts=_prompts(document, meta.prompts, page),
        rubric=_rubric(document, meta.rubric, page),
        text=text,
    )
    return Built(item, page, document, text, "")


def _common(document: Document, meta: ItemMeta, page: Page, drills: Sequence[str]) -> Common:
    summary = render_line(meta.summary, document.line_of(("summary",)), page)
    page.words.clear()
    return Common(
        id=document.id,
        title=meta.title,
        topic=meta.topic,
        level=meta.level,
        minutes=meta.minutes,
        tags=tuple(meta.tags),
        summary=str(summary.striptags()),
        requires=tuple(Link(Kind.CARD, each) for each in meta.requires),
        drills=tuple(drills),
        sources=_sources(document, meta, page),
        draft=meta.draft,
        published=meta.published,
        path=document.file,
    )


def _count(page: Page, line: int, text: str, bounds: tuple[int, int], name: str) -> None:
    least, most = bounds
    found = sentences(text)
    if not least <= found <= most:
        page.report(line, "length", f"{name} has {found} sentences", f"write {least} to {most}")


def _sources(document: Document, meta: ItemMeta, page: Page) -> tuple[Source, ...]:
    _unique(document, "sources", [source.id for source in meta.sources], page)
    return tuple(
        Source(
            id=source.id,
            authors=source.authors,
            title=source.title,
            year=source.year,
            url=str(source.url),
            read=render_line(source.read, document.line_of(("sources", index, "read")), page),
        )
        for index, source in enumerate(meta.sources)
    )


def _prompts(document: Document, prompts: Sequence[PromptMeta], page: Page) -> tuple[Prompt, ...]:
    _unique(document, "prompts", [prompt.id for prompt in prompts], page)
    found = []
    for index, prompt in enumerate(prompts):
        line = document.line_of(("prompts", index, "ask"))
        if YES_NO.match(prompt.ask):
            page.report(line, "prompt", "a prompt that yes or no answers", "ask what, why, how or how much")
        answer_line = document.line_of(("prompts", index, "answer"))
        ask, answer = render_line(prompt.ask, line, page), render_line(prompt.answer, answer_line, page)
        found.append(Prompt(prompt.id, ask, answer))
    return tuple(found)


def _rubric(document: Document, rubric: Sequence[CriterionMeta], page: Page) -> tuple[Criterion, ...]:
    _unique(document, "rubric", [criterion.id for criterion in rubric], page)
    return tuple(
        Criterion(each.id, each.points, render_line(each.text, document.line_of(("rubric", index, "text")), page))
        for index, each in enumerate(rubric)
    )


def _unique(document: Document, key: str, ids: Sequence[str], page: Page) -> None:
    for index, name in enumerate(ids):
        if name in ids[:index]:
            line = document.line_of((key, index, "id"))
            page.report(line, "duplicate-id", f"the id '{name}' stands twice in {key}", "give each its own")
