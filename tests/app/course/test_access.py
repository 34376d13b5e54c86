from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import pytest

from app.course.access import visible_to
from app.course.models import Kind, Link
from app.course.related import rank_concepts, related, up_next
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
    view = visible_to(None, small, unlocked=frozenset([Link(Kind.QUESTION, "fourth")]))
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


def test_up_next_follows_the_track_first(small: Snapshot) -> None:
    view = visible_to(None, small)
    drill = Link(Kind.DRILL, "adding")
    assert up_next(view, card("alpha"), frozenset()) == drill
    assert up_next(view, card("alpha"), frozenset([drill])) == card("beta")
    assert up_next(view, Link(Kind.QUESTION, "first"), frozenset()) == card("alpha"), "what was skipped comes again"
    done = frozenset([card("alpha"), drill, card("beta"), Link(Kind.QUESTION, "first")])
    assert up_next(view, card("alpha"), done) == Link(Kind.QUESTION, "second"), "then along the topic"


def test_up_next_ends(small: Snapshot) -> None:
    everything = [card("alpha"), card("beta"), Link(Kind.DRILL, "adding")]
    everything += [Link(Kind.QUESTION, name) for name in small.questions]
    assert up_next(visible_to(None, small), card("alpha"), frozenset(everything)) is None
