"""What comes next and why: along the track, what it needs first, open before locked, each way once."""

from __future__ import annotations

import dataclasses

from app.course.access import Opened, View, visible_to
from app.course.journey import ahead
from app.course.models import Kind, Link
from app.course.snapshot import Snapshot
from tests.app.course.test_access import LEARNER, with_needs


def card(name: str) -> Link:
    return Link(Kind.CARD, name)


def question(name: str) -> Link:
    return Link(Kind.QUESTION, name)


DRILL = Link(Kind.DRILL, "adding")


def following(view: View, at: Link, *done: Link) -> Link | None:
    return next((step.link for step in ahead(view, frozenset(done), at, limit=1)), None)


def test_the_track_comes_first(small: Snapshot) -> None:
    view = visible_to(LEARNER, small)
    assert following(view, card("alpha"), card("alpha")) == DRILL
    assert following(view, card("alpha"), card("alpha"), DRILL) == card("beta")
    assert following(view, question("first")) == card("alpha"), "what was skipped comes again"
    done = (card("alpha"), DRILL, card("beta"), question("first"))
    assert following(view, card("alpha"), *done) == question("second"), "then along the topic"


def test_it_ends(small: Snapshot) -> None:
    everything = [card("alpha"), card("beta"), DRILL, *(question(name) for name in small.questions)]
    assert following(visible_to(LEARNER, small), card("alpha"), *everything) is None


def test_what_is_open_comes_before_what_is_locked(small: Snapshot) -> None:
    done = (card("alpha"), card("beta"), DRILL, question("first"))
    steps = ahead(visible_to(None, small), frozenset(done), card("alpha"), limit=3)
    assert [step.link.id for step in steps] == ["third", "second", "fourth"], "only the third is open to a visitor"


def test_what_is_needed_comes_first_and_says_for_what(small: Snapshot) -> None:
    beta = dataclasses.replace(small.cards["beta"], requires=(card("alpha"),))
    track = dataclasses.replace(next(iter(small.tracks.values())), steps=(card("beta"), card("alpha")))
    cards = {**small.cards, "beta": beta}
    view = visible_to(LEARNER, dataclasses.replace(small, cards=cards, tracks={track.id: track}))
    [before] = ahead(view, frozenset(), limit=1)
    assert (before.link, before.why) == (card("alpha"), f"to be read before {beta.title}")
    [then] = ahead(view, frozenset([card("alpha")]), limit=1)
    assert (then.link, then.why) == (card("beta"), f"next in {track.title}")


def test_a_drill_waits_for_the_one_that_it_needs(small: Snapshot) -> None:
    snapshot = with_needs(small)
    more = Link(Kind.DRILL, "more")
    track = dataclasses.replace(next(iter(snapshot.tracks.values())), steps=(more,))
    snapshot = dataclasses.replace(snapshot, tracks={track.id: track})
    [first] = ahead(visible_to(LEARNER, snapshot), frozenset(), limit=1)
    assert (first.link, first.why) == (DRILL, "to be passed before Adding more")
    [then] = ahead(visible_to(LEARNER, snapshot, Opened(passed=frozenset(["adding"]))), frozenset([DRILL]), limit=1)
    assert (then.link, then.why) == (more, f"begins {track.title}")


def test_a_circle_of_needs_is_walked_once(small: Snapshot) -> None:
    alpha = dataclasses.replace(small.cards["alpha"], requires=(card("beta"),))
    beta = dataclasses.replace(small.cards["beta"], requires=(card("alpha"),))
    snapshot = dataclasses.replace(small, cards={"alpha": alpha, "beta": beta})
    assert ahead(visible_to(LEARNER, snapshot), frozenset(), limit=1)


def test_every_step_has_a_reason_and_comes_once(small: Snapshot) -> None:
    for at in (None, card("alpha"), question("fourth"), DRILL):
        steps = ahead(visible_to(LEARNER, small), frozenset(), at, limit=9)
        assert len({step.link for step in steps}) == len(steps)
        assert all(step.why for step in steps)
        assert at not in [step.link for step in steps]
