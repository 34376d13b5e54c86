"""How far somebody is: what was read is kept here, what was passed is told by the submissions, the rest derived."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.course import journey
from app.course.access import View
from app.course.models import Kind, Link
from app.db import alone, now
from app.progress.models import Reading
from app.progress.pages import Beginning, ProgressGroup, ProgressItem, ProgressPage, Score, Standing
from grader.drill import Drill


@dataclass(frozen=True)
class Standings:
    """What somebody has read, tried and passed, each with the moment."""

    read: Mapping[tuple[str, str], datetime] = field(default_factory=dict)  # by kind and id
    passed: Mapping[str, datetime] = field(default_factory=dict)  # drills
    tried: frozenset[str] = frozenset()  # drills

    def of(self, link: Link) -> tuple[Standing, datetime | None]:
        """How far they are with an item, and since when."""
        if link.kind is Kind.DRILL:
            if link.id in self.passed:
                return Standing.PASSED, self.passed[link.id]
            return (Standing.TRIED if link.id in self.tried else Standing.NEW), None
        moment = self.read.get((link.kind.value, link.id))
        return (Standing.NEW if moment is None else Standing.READ), moment


def mark_read(session: Session, user: str, link: Link) -> None:
    """Keep that `user` has read an item; the second time changes nothing."""
    alone(session, user)
    if session.get(Reading, (user, link.kind.value, link.id)) is None:
        session.add(Reading(user_id=user, kind=link.kind.value, item=link.id, read_at=now()))


def read_by(session: Session, user: str) -> dict[tuple[str, str], datetime]:
    """What `user` has read, by kind and id."""
    rows = session.execute(select(Reading.kind, Reading.item, Reading.read_at).where(Reading.user_id == user))
    return {(kind, item): moment for kind, item, moment in rows}


def groups_by_topic(view: View, drills: Mapping[str, Drill], standings: Standings) -> tuple[ProgressGroup, ...]:
    """The topics that have anything in them, each with its cards, questions and drills in order."""
    groups = []
    for topic in view.topics.values():
        links = [
            *(Link(Kind.CARD, card) for card in topic.cards),
            *(Link(Kind.QUESTION, question) for question in topic.questions),
            *(Link(Kind.DRILL, drill.id) for drill in drills.values() if drill.topic == topic.id),
        ]
        groups.append(_group(topic.id, topic.name, f"/topics/{topic.id}", links, view, drills, standings))
    return tuple(group for group in groups if group.total)


def groups_by_track(view: View, drills: Mapping[str, Drill], standings: Standings) -> tuple[ProgressGroup, ...]:
    """The tracks with their steps in order."""
    return tuple(
        _group(track.id, track.title, track.link.href, track.steps, view, drills, standings)
        for track in view.tracks.values()
    )


def overview(
    view: View, drills: Mapping[str, Drill], standings: Standings, scores: Iterable[Score] = ()
) -> ProgressPage:
    """Progress by topic and by track, and what people gave."""
    titled = ((score, title_of(Link(Kind(score.kind), score.id), view, drills)) for score in scores)
    return ProgressPage(
        scores=tuple(replace(score, title=title) for score, title in titled if title is not None),
        topics=groups_by_topic(view, drills, standings),
        tracks=groups_by_track(view, drills, standings),
        drills_passed=sum(drill in drills for drill in standings.passed),
        items_read=sum(kind_and_id in standings.read for kind_and_id in _readable(view)),
        begin=None if standings.read or standings.passed else _beginning(view),
    )


def _beginning(view: View) -> Beginning | None:
    step = next(iter(journey.ahead(view, frozenset(), limit=1)), None)
    return None if step is None else Beginning(journey.title_of(view, step.link), step.link.href, step.why)


def title_of(link: Link, view: View, drills: Mapping[str, Drill]) -> str | None:
    """The title behind a link, or ``None`` when the viewer may not know of it or it is gone."""
    if link.kind is Kind.DRILL:
        return drills[link.id].title if link.id in drills else None
    shelf = {Kind.CARD: view.cards, Kind.QUESTION: view.questions, Kind.TRACK: view.tracks}[link.kind]
    return shelf[link.id].title if link.id in shelf else None


def _readable(view: View) -> Iterable[tuple[str, str]]:
    yield from ((Kind.CARD.value, card) for card in view.cards)
    yield from ((Kind.QUESTION.value, question) for question in view.questions)


def _group(
    id: str,
    title: str,
    href: str,
    links: Iterable[Link],
    view: View,
    drills: Mapping[str, Drill],
    standings: Standings,
) -> ProgressGroup:
    items = tuple(item for link in links if (item := _item(link, view, drills, standings)) is not None)
    done = sum(item.standing in (Standing.READ, Standing.PASSED) for item in items)
    return ProgressGroup(id=id, title=title, href=href, done=done, total=len(items), items=items)


def _item(link: Link, view: View, drills: Mapping[str, Drill], standings: Standings) -> ProgressItem | None:
    title = title_of(link, view, drills)
    if title is None:
        return None
    standing, moment = standings.of(link)
    closed = opens_with(link, view) if standing is Standing.NEW else ""
    standing = Standing.LOCKED if closed else standing
    return ProgressItem(link.kind.value, link.id, title, link.href, standing, moment, closed)


def opens_with(link: Link, view: View) -> str:
    """What opens the closed part of an item to this reader, in one sentence; empty when nothing is closed."""
    if link.kind is Kind.DRILL:
        drill = view.drills.get(link.id)
        return "" if drill is None else view.work_opens_with(drill)
    question = view.questions.get(link.id) if link.kind is Kind.QUESTION else None
    return "" if question is None else view.opens_with(question)
