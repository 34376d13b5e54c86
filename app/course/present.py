"""From items to page contexts: pure functions of what a reader may see and has done."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from markupsafe import Markup

from app.course.access import View
from app.course.journey import ahead
from app.course.models import Card, DrillRef, Item, Kind, Link, Question, Section, Topic, Track
from app.course.pages import (
    Answer,
    CardPage,
    Found,
    GlossaryPage,
    ItemLink,
    OwnAnswer,
    Preview,
    QuestionPage,
    SearchPage,
    State,
    TagName,
    TagPage,
    TopicName,
    TopicPage,
    TrackPage,
    TracksPage,
)
from app.course.passages import Shelf, of_tags
from app.course.related import link_of, rank_concepts, related
from app.course.search import LONGEST_QUERY, search

MOST_FOUND = 30
KATEX_CSS = "/static/vendor/katex/katex.min.css"


@dataclass(frozen=True, slots=True)
class Reader:
    """The course as one reader sees it, and what they have read or passed."""

    view: View
    done: frozenset[Link]


def topic_page(reader: Reader, topic: Topic) -> TopicPage:
    """A topic with everything on its shelf."""
    view = reader.view
    tracks = [view.tracks[name] for name in topic.tracks if name in view.tracks]
    cards = [view.cards[name] for name in topic.cards if name in view.cards]
    questions = [view.questions[name] for name in topic.questions if name in view.questions]
    drills = _drills(reader, (drill.id for drill in view.snapshot.drills.values() if drill.topic == topic.id))
    links = [*(card.link for card in cards), *(question.link for question in questions)]
    following = next((link for link in links if link not in reader.done), None)
    return TopicPage(
        topic=_topic_name(topic),
        summary=topic.summary,
        outcomes=topic.outcomes,
        tracks=_items(reader, tracks),
        cards=_items(reader, cards),
        questions=_items(reader, questions),
        drills=drills,
        unlocked=sum(view.may_read_answer(question) for question in questions),
        done=sum(link in reader.done for link in links),
        total=len(links),
        up_next=_link(reader, following),
        topics=tuple(_topic_name(each) for each in view.topics.values()),
        stylesheets=stylesheets(view, topic.summary, *topic.outcomes),
    )


def tracks_page(reader: Reader) -> TracksPage:
    """Every path of study, and the topics that they cross."""
    view = reader.view
    return TracksPage(
        tracks=_items(reader, list(view.tracks.values())),
        topics=tuple(_topic_name(topic) for topic in view.topics.values()),
    )


def tag_page(reader: Reader, name: str) -> TagPage:
    """Everything that carries a tag and that this reader may see; empty when nothing does."""
    view = reader.view
    questions = [each for each in view.questions.values() if name in each.tags]
    return TagPage(
        tag=_tag(name),
        questions=_items(reader, questions),
        unlocked=sum(view.may_read_answer(question) for question in questions),
        cards=_items(reader, [each for each in view.cards.values() if name in each.tags]),
        tracks=_items(reader, [each for each in view.tracks.values() if name in each.tags]),
    )


def card_page(reader: Reader, card: Card) -> CardPage:
    view = reader.view
    asked = [question for question in view.questions.values() if card.id in question.concepts]
    return CardPage(
        kind=Kind.CARD,
        id=card.id,
        href=card.link.href,
        title=card.title,
        description=card.summary,
        topic=_topic_name(view.topics[card.topic]),
        level=card.level,
        minutes=card.minutes,
        tags=tuple(_tag(name) for name in card.tags),
        state=_state(reader, card),
        draft=card.draft,
        front=card.front,
        sections=card.sections,
        prompts=card.prompts,
        sources=card.sources,
        requires=_present(reader, card.requires),
        drills=_drills(reader, card.drills),
        questions=_items(reader, asked),
        related=_items(reader, [each for each in related(view, card) if each not in asked]),
        up_next=next_after(reader, card.link),
        stylesheets=stylesheets(view, card.front, *_html(card.sections), *(p.answer for p in card.prompts)),
    )


def question_page(reader: Reader, question: Question, own: OwnAnswer | None = None) -> QuestionPage:
    view = reader.view
    answer = _answer(question) if view.may_read_answer(question) else None
    shown = () if answer is None else (*_html(answer.sections), answer.note)
    concepts = rank_concepts(view, question)
    return QuestionPage(
        kind=Kind.QUESTION,
        id=question.id,
        href=question.link.href,
        title=question.title,
        description=question.summary,
        topic=_topic_name(view.topics[question.topic]),
        level=question.level,
        minutes=question.minutes,
        tags=tuple(_tag(name) for name in question.tags),
        state=_state(reader, question),
        draft=question.draft,
        question=question.question,
        teaser=question.teaser,
        answer=answer,
        opens_with=view.opens_with(question),
        sources=question.sources if answer is not None else (),
        concepts=_items(reader, concepts),
        own=own,
        drills=_drills(reader, question.drills),
        related=_items(reader, [each for each in related(view, question) if each not in concepts]),
        up_next=next_after(reader, question.link),
        stylesheets=stylesheets(view, question.question, question.teaser, *shown, *_own_html(own)),
    )


def _own_html(own: OwnAnswer | None) -> list[Markup]:
    return [] if own is None else [own.html]


def track_page(reader: Reader, track: Track) -> TrackPage:
    view = reader.view
    steps = _present(reader, track.steps)
    return TrackPage(
        kind=Kind.TRACK,
        id=track.id,
        href=track.link.href,
        title=track.title,
        description=track.summary,
        topic=_topic_name(view.topics[track.topic]),
        level=track.level,
        minutes=track.minutes,
        tags=tuple(_tag(name) for name in track.tags),
        state=_state(reader, track),
        draft=track.draft,
        opening=track.opening,
        sections=track.sections,
        steps=steps,
        done=sum(step.state in (State.READ, State.PASSED) for step in steps),
        prompts=track.prompts,
        sources=track.sources,
        drills=_drills(reader, track.drills),
        rubric=track.rubric,
        points=sum(criterion.points for criterion in track.rubric),
        up_next=next_after(reader, track.link),
        stylesheets=stylesheets(view, track.opening, *_html(track.sections), *(p.answer for p in track.prompts)),
    )


@dataclass(frozen=True, slots=True)
class Editorial:
    """What a drill's editorial page shows: headed sections in order, and the stylesheets that they need."""

    sections: tuple[Section, ...]
    stylesheets: tuple[str, ...]


def editorial(view: View, drill: str) -> Editorial | None:
    """The editorial of a drill; None while none is written. Who may read it is for the caller to decide."""
    sections = view.snapshot.editorials.get(drill)
    return None if sections is None else Editorial(sections, stylesheets(view, *_html(sections)))


def glossary_page(reader: Reader) -> GlossaryPage:
    terms = tuple(reader.view.terms.values())
    return GlossaryPage(terms, stylesheets(reader.view, *(term.html for term in terms)))


def search_page(reader: Reader, query: str) -> SearchPage:
    """What this reader may see that fits the query; with nothing to show, the tags there are."""
    view = reader.view
    query = query[:LONGEST_QUERY].strip()
    hits = search(view.snapshot.search, view, query, MOST_FOUND)
    found = tuple(
        Found(hit.passage.shelf, hit.title, hit.passage.href, hit.passage.heading, hit.snippet, _link(reader, link))
        for hit in hits
        for link in [hit.passage.link]
    )
    tags = () if found else tuple(_tag(each.id) for each in of_tags(view.cards, view.questions, view.tracks))
    return SearchPage(query, found, tags)


def preview_of(reader: Reader, shelf: str, name: str) -> Preview | None:
    """A few lines on a term, item or drill, by its place in the address; None for what this reader may not see."""
    term = reader.view.terms.get(name)
    if shelf == "terms":
        return None if term is None else Preview(Shelf.TERM, term.name, term.text, None, 0, State.NEW)
    kind = next((kind for kind in Kind if kind.plural == shelf), None)
    link = None if kind is None else _link(reader, Link(kind, name))
    if link is None:
        return None
    named = Shelf.CONCEPT if link.kind is Kind.CARD else Shelf(link.kind.value)
    return Preview(named, link.title, link.summary, link.level, link.minutes, link.state)


def item_link(reader: Reader, item: Item) -> ItemLink:
    """One item as a line of a list."""
    link = link_of(item)
    topic = reader.view.topics[item.topic]
    return ItemLink(
        kind=link.kind,
        id=item.id,
        title=item.title,
        href=link.href,
        level=item.level,
        minutes=item.minutes,
        summary=item.summary,
        topic_id=topic.id,
        topic_name=topic.name,
        tags=item.tags,
        state=_state(reader, item),
        opens_with=reader.view.opens_with(item) if isinstance(item, Question) else "",
    )


def next_after(reader: Reader, at: Link) -> ItemLink | None:
    """What to do after the item at `at`, with the reason."""
    for step in ahead(reader.view, reader.done, at, limit=1):
        found = _link(reader, step.link)
        return None if found is None else replace(found, why=step.why)
    return None


def _drill_link(reader: Reader, drill: DrillRef) -> ItemLink:
    topic = reader.view.topics[drill.topic]
    return ItemLink(
        kind=Kind.DRILL,
        id=drill.id,
        title=drill.title,
        href=drill.link.href,
        level=drill.level,
        minutes=drill.minutes,
        summary=drill.summary,
        topic_id=topic.id,
        topic_name=topic.name,
        tags=drill.tags,
        state=_drill_state(reader, drill),
        opens_with=reader.view.work_opens_with(drill),
    )


def _drill_state(reader: Reader, drill: DrillRef) -> State:
    if drill.link in reader.done:
        return State.PASSED
    return State.NEW if reader.view.may_work_on(drill.id) else State.LOCKED


def _link(reader: Reader, link: Link | None) -> ItemLink | None:
    if link is None:
        return None
    if link.kind is Kind.DRILL:
        drill = reader.view.snapshot.drills.get(link.id)
        return None if drill is None else _drill_link(reader, drill)
    item = reader.view.item(link)
    return None if item is None else item_link(reader, item)


def _present(reader: Reader, links: Iterable[Link]) -> tuple[ItemLink, ...]:
    found = (_link(reader, link) for link in links)
    return tuple(each for each in found if each is not None)


def _items(reader: Reader, items: Iterable[Item]) -> tuple[ItemLink, ...]:
    return tuple(item_link(reader, item) for item in items)


def _drills(reader: Reader, names: Iterable[str]) -> tuple[ItemLink, ...]:
    return _present(reader, dict.fromkeys(Link(Kind.DRILL, name) for name in names))


def _state(reader: Reader, item: Item) -> State:
    if link_of(item) in reader.done:
        return State.READ
    if isinstance(item, Question) and not reader.view.may_read_answer(item):
        return State.LOCKED
    return State.NEW


def _answer(question: Question) -> Answer:
    points = sum(criterion.points for criterion in question.rubric)
    return Answer(question.answer, question.note, question.rubric, points)


def _topic_name(topic: Topic) -> TopicName:
    return TopicName(topic.id, topic.name, f"/topics/{topic.id}")


def _tag(name: str) -> TagName:
    return TagName(name, f"/tags/{name}")


def _html(sections: Iterable[Section]) -> list[Markup]:
    return [section.html for section in sections]


def stylesheets(view: View, *parts: Markup) -> tuple[str, ...]:
    """The stylesheets that a page with these parts must load: none when no part has a formula."""
    if not any('class="katex"' in part for part in parts):
        return ()
    return (KATEX_CSS, f"/course/math-{view.snapshot.math_digest}.css")
