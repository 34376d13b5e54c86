"""Who may see what: one function, `visible_to`, that every surface calls. Nothing else reads guarded parts.

Pages, search, related items, feeds and up-next all take a `View`; a draft that a reader may not see is not in it,
so that forbidden and missing cannot look different.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Protocol, TypeVar

from app.course.models import Access, Card, Item, Kind, Link, Question, Term, Topic, Track
from app.course.snapshot import Snapshot

STAFF = frozenset(["author", "admin"])

I = TypeVar("I", bound=Item)  # noqa: E741 - the item's type


class Viewer(Protocol):
    """Who is looking, as far as access asks."""

    @property
    def role(self) -> str: ...


@dataclass(frozen=True, slots=True)
class View:
    """The course as one reader sees it. `member` is anyone signed in; `staff` writes or runs the course."""

    snapshot: Snapshot
    member: bool
    staff: bool
    unlocked: frozenset[Link]
    topics: Mapping[str, Topic]
    cards: Mapping[str, Card]
    questions: Mapping[str, Question]
    tracks: Mapping[str, Track]

    @property
    def terms(self) -> Mapping[str, Term]:
        return self.snapshot.terms

    def item(self, link: Link) -> Item | None:
        """The item behind a link, or None: missing and hidden alike."""
        shelves: dict[Kind, Mapping[str, Item]] = {
            Kind.CARD: self.cards,
            Kind.QUESTION: self.questions,
            Kind.TRACK: self.tracks,
        }
        return shelves[link.kind].get(link.id) if link.kind in shelves else None

    def may_read_answer(self, question: Question) -> bool:
        """Whether this reader may see a question's answer, note and rubric."""
        access = access_of(question, self.snapshot)
        open_to_all = access is Access.OPEN or (access is Access.MEMBERS and self.member)
        return open_to_all or self.staff or question.link in self.unlocked

    def opens_with(self, question: Question) -> str:
        """What opens a locked answer, in one sentence; empty when it is open."""
        if self.may_read_answer(question):
            return ""
        if access_of(question, self.snapshot) is Access.MEMBERS:
            return "Sign in to read the answer."
        return "The answer opens with an unlock of this topic."


def visible_to(viewer: Viewer | None, snapshot: Snapshot, unlocked: frozenset[Link] = frozenset()) -> View:
    """What `viewer` (None: not signed in) may see. `unlocked` are the questions opened to them one by one."""
    staff = viewer is not None and viewer.role in STAFF
    return View(
        snapshot=snapshot,
        member=viewer is not None,
        staff=staff,
        unlocked=unlocked,
        topics=snapshot.topics,
        cards=_published(snapshot.cards, staff),
        questions=_published(snapshot.questions, staff),
        tracks=_published(snapshot.tracks, staff),
    )


def access_of(question: Question, snapshot: Snapshot) -> Access:
    """The policy's word on one answer: its own override, or its place among its topic's published questions."""
    override = dict(snapshot.policy.overrides).get(question.id)
    if override is not None:
        return override
    shelf = snapshot.topics[question.topic].questions
    published = [name for name in shelf if not snapshot.questions[name].draft or name == question.id]
    place = published.index(question.id)
    if place < snapshot.policy.open_answers:
        return Access.OPEN
    if place < snapshot.policy.open_answers + snapshot.policy.member_answers:
        return Access.MEMBERS
    return Access.LOCKED


def _published(items: Mapping[str, I], staff: bool) -> Mapping[str, I]:
    return MappingProxyType({name: item for name, item in items.items() if staff or not item.draft})
