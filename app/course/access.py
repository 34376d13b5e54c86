"""Who may see what: one function, `visible_to`, that every surface calls. Nothing else reads guarded parts.

Pages, search, related items, feeds and up-next all take a `View`; a draft that a reader may not see is not in it,
so that forbidden and missing cannot look different. Where it is no secret that something exists, the view says in
one sentence what opens it.

Three things open what the policy keeps closed: an unlock of the course, a topic or an item (`app.course.unlocks`
keeps those), and what somebody has passed themselves, which the submissions tell.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Protocol, TypeVar

from app.course.models import Access, Card, DrillRef, Item, Kind, Link, Question, Term, Topic, Track
from app.course.snapshot import Snapshot

STAFF = frozenset(["author", "admin"])

I = TypeVar("I", bound=Item)  # noqa: E741 - the item's type


class Viewer(Protocol):
    """Who is looking, as far as access asks."""

    @property
    def role(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Opened:
    """What is open to one reader beyond the policy."""

    course: bool = False
    topics: frozenset[str] = frozenset()
    items: frozenset[Link] = frozenset()  # questions and drills, one by one
    passed: frozenset[str] = frozenset()  # drills they have passed: earned, so nothing of it is stored

    def holds(self, link: Link, topic: str) -> bool:
        """Whether an unlock covers an item of `topic`."""
        return self.course or topic in self.topics or link in self.items


NOTHING = Opened()


@dataclass(frozen=True, slots=True)
class View:
    """The course as one reader sees it. `member` is anyone signed in; `staff` writes or runs the course."""

    snapshot: Snapshot
    member: bool
    staff: bool
    opened: Opened
    topics: Mapping[str, Topic]
    cards: Mapping[str, Card]
    questions: Mapping[str, Question]
    tracks: Mapping[str, Track]

    @property
    def terms(self) -> Mapping[str, Term]:
        return self.snapshot.terms

    @property
    def drills(self) -> Mapping[str, DrillRef]:
        """All drills: that one exists is never a secret."""
        return self.snapshot.drills

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
        return open_to_all or self.staff or self.opened.holds(question.link, question.topic)

    def opens_with(self, question: Question) -> str:
        """What opens a locked answer, in one sentence; empty when it is open."""
        if self.may_read_answer(question):
            return ""
        if access_of(question, self.snapshot) is Access.MEMBERS:
            return "Sign in to read the answer."
        return f"An unlock of {self.topics[question.topic].name} opens the answer."

    def may_work_on(self, name: str) -> bool:
        """Whether this reader may run and submit a drill. False for a drill that does not exist."""
        drill = self.drills.get(name)
        return drill is not None and not self.work_opens_with(drill)

    def work_opens_with(self, drill: DrillRef) -> str:
        """What opens work on a drill, in one sentence; empty when it is open."""
        if self.staff or drill.id in self.opened.passed or self.opened.holds(drill.link, drill.topic):
            return ""
        access = drill_access(drill, self.snapshot)
        if access is Access.OPEN or (access is Access.MEMBERS and self.member):
            return ""
        if access is Access.MEMBERS:
            return "Sign in to work on it."
        missing = [need for need in drill.needs if need in self.drills and need not in self.opened.passed]
        if drill.needs and not missing:
            return ""
        if missing:
            return f"Passing {_listed([self.drills[need].title for need in missing])} opens it."
        return f"An unlock of {self.topics[drill.topic].name} opens it."

    def may_read_editorial(self, name: str) -> bool:
        """Whether this reader may see a drill's editorial and its kill matrix. Both give the drill away."""
        drill = self.drills.get(name)
        if drill is None:
            return False
        return self.staff or name in self.opened.passed or self.opened.holds(drill.link, drill.topic)

    def editorial_opens_with(self, drill: DrillRef) -> str:
        """What opens the editorial and the kill matrix, in one sentence; empty when they are open."""
        return "" if self.may_read_editorial(drill.id) else f"Passing {drill.title} opens this."


def visible_to(viewer: Viewer | None, snapshot: Snapshot, opened: Opened = NOTHING) -> View:
    """What `viewer` (None: not signed in) may see. `opened` is what the policy alone would keep closed."""
    staff = viewer is not None and viewer.role in STAFF
    return View(
        snapshot=snapshot,
        member=viewer is not None,
        staff=staff,
        opened=opened,
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


def drill_access(drill: DrillRef, snapshot: Snapshot) -> Access:
    """The policy's word on work on one drill: its own override; otherwise a drill without needs is open to all, and
    one with needs waits until those are passed, where the policy wants that.
    """
    override = dict(snapshot.policy.drill_overrides).get(drill.id)
    if override is not None:
        return override
    return Access.LOCKED if snapshot.policy.drills_by_needs and drill.needs else Access.OPEN


def _listed(titles: list[str]) -> str:
    return titles[0] if len(titles) == 1 else f"{', '.join(titles[:-1])} and {titles[-1]}"


def _published(items: Mapping[str, I], staff: bool) -> Mapping[str, I]:
    return MappingProxyType({name: item for name, item in items.items() if staff or not item.draft})
