"""The review on both databases: its log adds up to what is stored, answers count once, days have a cap."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from sqlalchemy import func, select, update
from sqlalchemy.orm import Session

from app.accounts.preferences import Preferences
from app.course.access import View, visible_to
from app.course.store import CourseStore
from app.db import Database, new_id, now
from app.errors import Conflict, InvalidForm, NotFound
from app.jobs import Jobs
from app.progress.service import Standings
from app.review import service
from app.review.models import Action, ReviewEvent, ReviewItem
from app.review.schedule import Memory, Rating, replay
from app.review.service import Key
from app.submissions.models import Submission
from grader.verdict import Outcome
from tests.app.submissions.conftest import (
    Submit,
    ada,
    add_user,
    drills,
    live_run,
    record,
    start,
    submit,
    verdict,
)

__all__ = ["ada", "drills", "submit"]

CARD = "online-softmax"
START = now() - timedelta(days=400)


@pytest.fixture
def view(course: CourseStore) -> View:
    return visible_to(None, course.current)


def keys(view: View, card: str = CARD) -> list[Key]:
    return [Key("card", card, prompt.id) for prompt in view.cards[card].prompts]


def read(view: View, *cards: str) -> Standings:
    return Standings(read={("card", card): START for card in cards or view.cards})


def known(
    database: Database, user: str, view: View, facts: Standings, chosen: Preferences | None = None
) -> service.Known:
    with database.read() as session:
        return service.known(session, user, view, facts, chosen or Preferences(), now())


def grade(database: Database, user: str, key: Key, rating: Rating = Rating.GOOD, token: str = "") -> None:
    with database.write() as session:
        service.grade(session, user, key, Memory(due=START), rating, 0.9, token or new_id())


def assert_replays(session: Session) -> None:
    for row in session.scalars(select(ReviewItem)):
        assert replay(row.first_due, service.events_of(session, row)) == service.memory_of(row)


def test_the_log_adds_up_to_what_is_stored(database: Database, view: View) -> None:
    """A year of everything that can happen, in a random order, on three items, with changing retention."""
    ada, items = add_user(database, "ada"), keys(view)[:3]
    dice, at = random.Random(7), START
    for _ in range(120):
        at += timedelta(hours=dice.expovariate(1 / 60))
        key, action = dice.choice(items), dice.choice([*[Action.GRADE] * 6, *Action])
        with database.write() as session:
            try:
                service.append(
                    session,
                    ada,
                    key,
                    Memory(due=START),
                    action,
                    new_id(),
                    rating=dice.randint(1, 4) if action is Action.GRADE else None,
                    retention=dice.choice([0.8, 0.9, 0.95]) if action is Action.GRADE else None,
                    at=at,
                )
            except Conflict:
                assert action is Action.UNDO  # nothing of this item was left to undo
        with database.read() as session:
            assert_replays(session)
    with database.read() as session:
        assert session.scalar(select(func.count()).select_from(ReviewEvent)) > 100  # type: ignore[operator]
        undone = session.scalars(select(ReviewEvent.undoes).where(ReviewEvent.action == Action.UNDO)).all()
        assert undone and None not in undone


def test_an_undo_restores_what_was_before(database: Database, view: View) -> None:
    ada, key = add_user(database, "ada"), keys(view)[0]
    grade(database, ada, key, Rating.GOOD)
    with database.read() as session:
        before = service.memory_of(session.scalars(select(ReviewItem)).one())
    grade(database, ada, key, Rating.AGAIN)
    for token in ("undo-token-1", "undo-token-1"):  # twice is once
        with database.write() as session:
            assert service.undo(session, ada, token, Preferences().zone)
    with database.read() as session:
        assert service.memory_of(session.scalars(select(ReviewItem)).one()) == before
    with database.write() as session:
        assert service.undo(session, ada, "undo-token-2", Preferences().zone)
        assert not service.undo(session, ada, "undo-token-3", Preferences().zone)
    found = known(database, ada, view, read(view, CARD))
    assert found.items[key].new
    assert not found.touched


def test_an_answer_counts_once(database: Database, view: View) -> None:
    ada, key = add_user(database, "ada"), keys(view)[0]

    def answer(_: int) -> None:
        grade(database, ada, key, token="the-same-token")

    with ThreadPoolExecutor(6) as threads:
        list(threads.map(answer, range(6)))
    with database.read() as session:
        assert session.scalar(select(func.count()).select_from(ReviewEvent)) == 1
        assert_replays(session)


@pytest.mark.parametrize("token", ["", "short", "x" * 65, "a b c d e f", "token\0token"])
def test_a_form_needs_its_token(database: Database, view: View, token: str) -> None:
    ada = add_user(database, "ada")
    with pytest.raises(InvalidForm), database.write() as session:
        service.grade(session, ada, keys(view)[0], Memory(due=START), Rating.GOOD, 0.9, token)


def test_only_what_was_met_is_asked(database: Database, view: View) -> None:
    ada = add_user(database, "ada")
    assert known(database, ada, view, Standings()).items == {}
    found = known(database, ada, view, read(view, CARD))
    assert set(found.items) == set(keys(view))
    assert all(memory.new for memory in found.items.values())
    gone = Standings(read={("card", "gone"): START, ("question", "fused-kernel-drift"): START})
    assert known(database, ada, view, gone).items == {}


def test_prompts_of_tracks_are_asked_too(database: Database, view: View) -> None:
    track = next(track for track in view.tracks.values() if track.prompts)
    found = known(database, add_user(database, "ada"), view, Standings(read={("track", track.id): START}))
    assert set(found.items) == {Key("track", track.id, prompt.id) for prompt in track.prompts}


def test_a_day_has_a_cap(database: Database, view: View) -> None:
    ada, chosen, facts = add_user(database, "ada"), Preferences(daily_cap=5), read(view)
    first = service.today(known(database, ada, view, facts, chosen), chosen, now())
    assert (len(first.queue), first.done) == (5, 0)
    assert first.over == len(known(database, ada, view, facts).items) - 5
    for key in first.queue[:2]:
        grade(database, ada, key)
    grade(database, ada, first.queue[2], Rating.AGAIN)
    second = service.today(known(database, ada, view, facts, chosen), chosen, now())
    assert (len(second.queue), second.done) == (2, 3)
    with database.write() as session:  # ten minutes later what was forgotten is asked again, beside the cap
        session.execute(update(ReviewItem).where(ReviewItem.state == 1).values(due=now() - timedelta(seconds=1)))
    third = service.today(known(database, ada, view, facts, chosen), chosen, now())
    assert third.queue[0] == first.queue[2]
    assert len(third.queue) == 3


def test_what_is_suspended_or_put_off_is_not_asked(database: Database, view: View) -> None:
    ada, facts = add_user(database, "ada"), read(view, CARD)
    one, two = keys(view)[:2]
    for key, action in ((one, Action.SUSPEND), (two, Action.SKIP)):
        with database.write() as session:
            service.append(session, ada, key, Memory(due=START), action, new_id())
    queue = service.today(known(database, ada, view, facts), Preferences(), now()).queue
    assert not {one, two} & set(queue)
    tomorrow = now() + timedelta(days=1)
    with database.read() as session:
        later = service.known(session, ada, view, facts, Preferences(), tomorrow)
    queue = service.today(later, Preferences(), tomorrow).queue
    assert one not in queue
    assert two in queue
    with database.write() as session:
        service.append(session, ada, one, Memory(due=START), Action.RESUME, new_id())
    assert one in service.today(known(database, ada, view, facts), Preferences(), now()).queue


def test_what_fades_most_is_asked_first(database: Database, view: View) -> None:
    ada, facts = add_user(database, "ada"), read(view, CARD)
    old, older = keys(view)[:2]
    for key, days in ((old, 20), (older, 200)):
        with database.write() as session:
            at = now() - timedelta(days=days)
            service.append(session, ada, key, Memory(due=START), Action.GRADE, new_id(), 3, 0.9, at)
    queue = service.today(known(database, ada, view, facts), Preferences(), now()).queue
    assert queue[:2] == (older, old)


def test_nobody_answers_for_another(database: Database, view: View) -> None:
    ada, eve = add_user(database, "ada"), add_user(database, "eve")
    for key in keys(view)[:2]:
        grade(database, ada, key)
    found = known(database, eve, view, read(view, CARD))
    assert all(memory.new for memory in found.items.values())
    with database.write() as session:
        assert not service.undo(session, eve, new_id(), Preferences().zone)


def test_a_failed_drill_is_to_do_again_and_its_verdict_is_the_grade(
    database: Database, queue: Jobs, view: View, submit: Submit, ada: str
) -> None:
    key = Key("drill", "tiled_softmax")

    def attempt(outcome: Outcome, days_ago: float) -> None:
        made = submit()
        work = start(database, live_run(database, made.id))
        assert work is not None
        record(database, queue, work, verdict(outcome))
        with database.write() as session:
            moment = now() - timedelta(days=days_ago)
            session.execute(update(Submission).where(Submission.id == made.id).values(submitted_at=moment))

    def due() -> bool:
        found = known(database, ada, view, Standings())
        return key in service.today(found, Preferences(), now()).queue

    attempt(Outcome.ACCEPTED, 30)
    assert known(database, ada, view, Standings()).items == {}
    attempt(Outcome.GRADER_PROBLEM, 29)
    assert known(database, ada, view, Standings()).items == {}
    attempt(Outcome.WRONG_ANSWER, 28)
    assert due()
    with pytest.raises(InvalidForm), database.write() as session:
        service.grade(session, ada, key, Memory(due=START), Rating.EASY, 0.9, new_id())
    attempt(Outcome.ACCEPTED, 0)
    assert not due()
    with database.write() as session:
        service.append(session, ada, key, Memory(due=START), Action.SUSPEND, new_id())
    attempt(Outcome.WRONG_ANSWER, -0.0001)
    assert known(database, ada, view, Standings()).items[key].suspended


@pytest.mark.parametrize("text", ["", "card", "card:x:y:z", "question:x", "card:a:b:", "\0:x"])
def test_a_key_that_names_nothing(text: str) -> None:
    with pytest.raises(NotFound):
        Key.read(text)
