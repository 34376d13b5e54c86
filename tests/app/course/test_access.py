from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import pytest

from app.course.access import Opened, visible_to
from app.course.models import Access, Kind, Link
from app.course.related import rank_concepts, related
from app.course.snapshot import Snapshot


@dataclass(frozen=True)
class Person:
    role: str


LEARNER, AUTHOR, ADMIN = Person("learner"), Person("author"), Person("admin")


def card(name: str) -> Link:
    return Link(Kind.CARD, name)


def with_draft(snapshot: Snapshot, name: str) -> Snapshot:
    draft = dataclasses.replace(snapshot.questions[name], draft=True)
    return dataclasses.replace(snapshot, questions={**snapshot.questions, name: draft})


@pytest.mark.parametrize(
    ("viewer", "readable"),
    [
        (None, ["first", "third"]),  # the first is open, the third by its override
        (LEARNER, ["first", "second", "third"]),
        (AUTHOR, ["first", "second", "third", "fourth"]),
        (ADMIN, ["first", "second", "third", "fourth"]),
    ],
)
def test_answers_open_by_the_policy(small: Snapshot, viewer: Person | None, readable: list[str]) -> None:
    view = visible_to(viewer, small)
    assert [name for name, question in view.questions.items() if view.may_read_answer(question)] == readable


def test_an_unlock_opens_one_answer(small: Snapshot) -> None:
    view = visible_to(None, small, Opened(items=frozenset([Link(Kind.QUESTION, "fourth")])))
    assert view.may_read_answer(small.questions["fourth"])
    assert not view.may_read_answer(small.questions["second"])


def test_a_locked_answer_says_what_opens_it(small: Snapshot) -> None:
    view = visible_to(None, small)
    assert view.opens_with(small.questions["first"]) == ""
    assert view.opens_with(small.questions["second"]) == "Sign in to read the answer."
    assert "unlock" in view.opens_with(small.questions["fourth"])


def test_a_draft_is_there_for_staff_only(small: Snapshot) -> None:
    snapshot = with_draft(small, "first")
    assert "first" not in visible_to(None, snapshot).questions
    assert "first" not in visible_to(LEARNER, snapshot).questions
    assert "first" in visible_to(AUTHOR, snapshot).questions
    assert visible_to(LEARNER, snapshot).item(Link(Kind.QUESTION, "first")) is None


def test_a_draft_takes_no_open_place(small: Snapshot) -> None:
    view = visible_to(None, with_draft(small, "first"))
    assert view.may_read_answer(view.questions["second"])


def test_related_items_share_something_and_never_include_themselves(small: Snapshot) -> None:
    view = visible_to(None, small)
    found = related(view, small.cards["alpha"])
    assert small.cards["alpha"] not in found
    assert small.questions["first"] in found
    assert found == related(view, small.cards["alpha"]), "the order does not change from one call to the next"


def test_related_items_leave_out_drafts(small: Snapshot) -> None:
    view = visible_to(LEARNER, with_draft(small, "first"))
    assert "first" not in [item.id for item in related(view, small.cards["alpha"])]


def test_concepts_are_ranked_by_overlap(small: Snapshot) -> None:
    question = dataclasses.replace(small.questions["first"], concepts=("beta", "alpha"), tags=("order",))
    assert [item.id for item in rank_concepts(visible_to(None, small), question)] == ["beta", "alpha"]
    question = dataclasses.replace(question, tags=("sums",), requires=(card("alpha"),), concepts=("beta", "alpha"))
    assert {item.id for item in rank_concepts(visible_to(None, small), question)} == {"alpha", "beta"}


@pytest.mark.parametrize(
    ("opened", "readable"),
    [
        (Opened(course=True), ["first", "second", "third", "fourth"]),
        (Opened(topics=frozenset(["numbers"])), ["first", "second", "third", "fourth"]),
        (Opened(topics=frozenset(["letters"])), ["first", "third"]),
        (Opened(items=frozenset([Link(Kind.QUESTION, "fourth")])), ["first", "third", "fourth"]),
        (Opened(items=frozenset([Link(Kind.DRILL, "fourth")])), ["first", "third"]),
        (Opened(passed=frozenset(["adding"])), ["first", "third"]),  # passing opens no answer
    ],
)
def test_unlocks_open_what_they_cover_and_no_more(small: Snapshot, opened: Opened, readable: list[str]) -> None:
    view = visible_to(None, small, opened)
    assert [name for name, question in view.questions.items() if view.may_read_answer(question)] == readable


def with_needs(
    snapshot: Snapshot, by_needs: bool = True, overrides: Mapping[str, Access] = MappingProxyType({})
) -> Snapshot:
    """The course with a second drill that needs the first."""
    first = snapshot.drills["adding"]
    second = dataclasses.replace(first, id="more", title="Adding more", needs=("adding",))
    policy = dataclasses.replace(
        snapshot.policy, drills_by_needs=by_needs, drill_overrides=tuple(sorted(overrides.items()))
    )
    return dataclasses.replace(snapshot, drills={"adding": first, "more": second}, policy=policy)


def test_passing_a_drill_opens_its_editorial_and_the_drills_that_need_it(small: Snapshot) -> None:
    snapshot = with_needs(small)
    before = visible_to(LEARNER, snapshot)
    assert before.may_work_on("adding")
    assert not before.may_work_on("more")
    assert not before.may_read_editorial("adding")
    assert before.work_opens_with(snapshot.drills["more"]) == f"Passing {snapshot.drills['adding'].title} opens it."
    after = visible_to(LEARNER, snapshot, Opened(passed=frozenset(["adding"])))
    assert after.may_work_on("more")
    assert after.may_read_editorial("adding")
    assert not after.may_read_editorial("more")
    assert after.work_opens_with(snapshot.drills["more"]) == ""


@pytest.mark.parametrize(
    ("overrides", "viewer", "opened", "may"),
    [
        ({}, None, Opened(), False),
        ({}, AUTHOR, Opened(), True),
        ({}, LEARNER, Opened(items=frozenset([Link(Kind.DRILL, "more")])), True),
        ({}, LEARNER, Opened(course=True), True),
        ({"more": Access.OPEN}, None, Opened(), True),
        ({"more": Access.MEMBERS}, None, Opened(), False),
        ({"more": Access.MEMBERS}, LEARNER, Opened(), True),
        ({"more": Access.LOCKED}, LEARNER, Opened(), False),
    ],
)
def test_who_may_work_on_a_drill(
    small: Snapshot, overrides: dict[str, Access], viewer: Person | None, opened: Opened, may: bool
) -> None:
    view = visible_to(viewer, with_needs(small, overrides=overrides), opened)
    assert view.may_work_on("more") is may
    assert bool(view.work_opens_with(view.drills["more"])) is not may
    assert not view.may_work_on("no-such-drill")
    assert not view.may_read_editorial("no-such-drill")


def test_needs_are_advice_where_the_policy_says_so(small: Snapshot) -> None:
    assert visible_to(None, with_needs(small, by_needs=False)).may_work_on("more")
