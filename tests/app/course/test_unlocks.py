"""Unlocks on both databases: codes can't be guessed, overdrawn or revived, and every page follows what is open."""

from __future__ import annotations

import json
import re
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from fastapi import FastAPI
from sqlalchemy import select, update

from app.accounts import audit, own
from app.accounts.models import Role
from app.course import unlocks
from app.course.access import Opened, View, access_of, visible_to
from app.course.models import Access, Kind, Link
from app.course.store import CourseStore
from app.course.unlock_tables import Scope, Source, Unlock, UnlockCode
from app.course.unlocks import Target
from app.db import Database, now
from app.errors import InvalidForm
from app.jobs import Jobs
from grader.verdict import Outcome
from tests.app.conftest import Browser
from tests.app.submissions.conftest import add_user, live_run, record, start, verdict
from tests.app.submissions.test_routes import hand_in

TOPIC = Target(Scope.TOPIC, "kernels")


def make_code(database: Database, most: int = 1, days: int | None = None, what: Target = TOPIC) -> str:
    with database.write() as session:
        return unlocks.new_code(session, what, most, days)[0]


def redeem(database: Database, user: str, code: str) -> Target:
    with database.write() as session:
        return unlocks.redeem(session, user, code)


@pytest.fixture
def locked(course: CourseStore) -> str:
    """A question whose answer only an unlock opens."""
    snapshot = course.current
    return next(n for n, q in snapshot.questions.items() if access_of(q, snapshot) is Access.LOCKED)


@pytest.fixture
def view(course: CourseStore) -> View:
    return visible_to(None, course.current)


def test_a_code_opens_once_for_each_up_to_its_limit(database: Database) -> None:
    ada, bob, eve = (add_user(database, name) for name in ("ada", "bob", "eve"))
    code = make_code(database, most=2)
    assert redeem(database, ada, code) == TOPIC
    assert redeem(database, ada, f" {code.lower().replace('-', ' ')} ") == TOPIC
    assert redeem(database, bob, code) == TOPIC
    with pytest.raises(InvalidForm, match="as often as it may"):
        redeem(database, eve, code)
    with database.read() as session:
        assert unlocks.opened_to(session, ada).topics == {"kernels"}
        assert unlocks.opened_to(session, eve) == Opened()
        assert session.scalars(select(UnlockCode.uses)).one() == 2


def test_many_at_once_spend_no_more_than_the_limit(database: Database) -> None:
    people = [add_user(database, f"learner-{n}") for n in range(6)]
    code = make_code(database, most=2)

    def try_it(user: str) -> bool:
        try:
            redeem(database, user, code)
        except InvalidForm:
            return False
        return True

    with ThreadPoolExecutor(6) as threads:
        assert sum(threads.map(try_it, people)) == 2


def test_a_use_stays_spent_when_its_account_goes(database: Database) -> None:
    from app.accounts.models import User

    ada, bob = add_user(database, "ada"), add_user(database, "bob")
    code = make_code(database)
    redeem(database, ada, code)
    with database.write() as session:
        session.delete(session.get_one(User, ada))
    with pytest.raises(InvalidForm):
        redeem(database, bob, code)


def test_codes_end(database: Database) -> None:
    ada = add_user(database, "ada")
    old = make_code(database, days=1)
    with database.write() as session:
        session.execute(update(UnlockCode).values(expires_at=now() - timedelta(seconds=1)))
    with pytest.raises(InvalidForm, match="expired"):
        redeem(database, ada, old)
    withdrawn = make_code(database)
    with database.write() as session:
        unlocks.revoke(session, unlocks.codes(session)[0].id)
    with pytest.raises(InvalidForm, match="withdrawn"):
        redeem(database, ada, withdrawn)
    with pytest.raises(InvalidForm, match="no such code"):
        redeem(database, ada, "0000-0000-0000-0000")


def test_a_leaked_database_holds_no_code(database: Database) -> None:
    code = make_code(database)
    assert re.fullmatch(r"([0-9A-HJKMNP-TV-Z]{4}-){3}[0-9A-HJKMNP-TV-Z]{4}", code)
    with database.read() as session:
        row = session.scalars(select(UnlockCode)).one()
        kept = [str(getattr(row, column.key)) for column in UnlockCode.__table__.columns]
    assert not any(code in text or code.replace("-", "") in text for text in kept)
    assert len({make_code(database) for _ in range(50)}) == 50


def test_what_is_derived_is_never_stored(database: Database) -> None:
    ada = add_user(database, "ada")
    for source in (Source.EARNED, Source.POLICY):
        with pytest.raises(ValueError), database.write() as session:
            unlocks.grant(session, ada, TOPIC, source)


def test_a_grant_can_be_taken_back(database: Database) -> None:
    ada = add_user(database, "ada")
    with database.write() as session:
        assert unlocks.grant(session, ada, TOPIC, Source.GRANT)
        assert not unlocks.grant(session, ada, TOPIC, Source.GRANT)
        assert unlocks.grant(session, ada, TOPIC, Source.PURCHASE)
        assert unlocks.take_back(session, ada, TOPIC) == 2
        assert session.scalars(select(Unlock)).all() == []


@pytest.mark.parametrize("text", ["", "everything", "topic:", "topic:none", "card:online-softmax", "question:"])
def test_only_what_exists_can_be_opened(course: CourseStore, text: str) -> None:
    with pytest.raises(InvalidForm):
        unlocks.target(text, course.current)


def test_from_code_to_open_answer(
    application: FastAPI, browser: Browser, database: Database, course: CourseStore, locked: str
) -> None:
    question = course.current.questions[locked]
    assert browser.get("/unlock").headers["location"].startswith("/sign-in")
    browser.sign_in_as("ada")
    page = browser.get(f"/questions/{locked}").text
    assert "The answer is locked" in page
    assert str(question.answer[0].html) not in page
    shelf = course.current.topics[question.topic].questions
    before = browser.get(f"/topics/{question.topic}").text
    assert f"{len(shelf)} questions, {min(len(shelf), 4)} unlocked for you" in before
    code = make_code(database, what=Target(Scope.TOPIC, question.topic))
    wrong = browser.post("/unlock", data={"code": "<script>0000"})
    assert wrong.status_code == 422
    assert "<script>0" not in wrong.text
    answer = browser.post("/unlock", data={"code": code})
    assert (answer.status_code, answer.headers["location"]) == (303, f"/unlock?opened=topic:{question.topic}")
    assert (
        course.current.topics[question.topic].name.replace("&", "&amp;")
        in browser.get(answer.headers["location"]).text
    )
    assert str(question.answer[0].html) in browser.get(f"/questions/{locked}").text
    assert f"{len(shelf)} questions, {len(shelf)} unlocked for you" in browser.get(f"/topics/{question.topic}").text
    other = Browser(application)
    other.sign_in_as("eve")
    assert str(question.answer[0].html) not in other.get(f"/questions/{locked}").text


def test_guessing_codes_is_limited(browser: Browser) -> None:
    browser.sign_in_as("ada")
    tried = [browser.post("/unlock", data={"code": f"guess-{n}"}).status_code for n in range(11)]
    assert tried == [422] * 10 + [429]


def test_progress_says_locked(browser: Browser, locked: str, course: CourseStore) -> None:
    browser.sign_in_as("ada")
    page = browser.get("/progress").text
    row = page[page.index(f'href="/questions/{locked}"') :][:900]
    assert "is-locked" in row
    assert "opens the answer" in row
    assert Link(Kind.QUESTION, locked) not in visible_to(None, course.current).opened.items


def test_passing_a_drill_opens_the_next(browser: Browser, database: Database, queue: Jobs) -> None:
    browser.sign_in_as("ada")
    form = {"source": "x = 1\n", "lane": "cpu", "token": "token-000001"}
    closed = browser.post("/drills/drifting_attention/submissions", data=form)
    assert closed.status_code == 422
    assert "Passing Tiled softmax opens it" in closed.text
    assert "Passing Tiled softmax opens it" in browser.get("/drills/drifting_attention").text
    work = start(database, live_run(database, hand_in(browser)))
    assert work is not None
    record(database, queue, work, verdict(Outcome.ACCEPTED))
    assert browser.post("/drills/drifting_attention/submissions", data=form).status_code == 303


def test_the_list_of_drills_says_which_are_locked(browser: Browser) -> None:
    page = browser.get("/drills").text
    row = page[page.index('href="/drills/drifting_attention"') :][:1500]
    assert "is-locked" in row.split("</li>")[0]
    row = page[page.index('href="/drills/tiled_softmax"') :][:1500]
    assert "is-locked" not in row.split("</li>")[0]


def acts(database: Database) -> list[tuple[str, str, str, dict[str, object]]]:
    with database.read() as session:
        rows = reversed(audit.trail(session))
        return [(row.actor, row.action, row.target, json.loads(row.details)) for row in rows]


def test_the_trail_tells_of_every_code_and_unlock_and_forgets_who_left(database: Database) -> None:
    ada, bob = add_user(database, "ada"), add_user(database, "bob", Role.ADMIN)
    code = make_code(database)
    redeem(database, ada, code)
    redeem(database, ada, code)  # twice is once
    with database.write() as session:
        assert unlocks.grant(session, ada, Target(Scope.COURSE), Source.GRANT, given_by=bob)
        assert unlocks.take_back(session, ada, Target(Scope.COURSE)) == 1
        unlocks.revoke(session, unlocks.codes(session)[0].id)
    told = acts(database)
    assert [(who, what, where) for who, what, where, _ in told] == [
        (audit.CONSOLE, "make code", "/topics/kernels"),
        ("ada", "unlock", "/topics/kernels"),
        ("bob", "unlock", "/tracks"),
        (audit.CONSOLE, "take back unlock", "/tracks"),
        (audit.CONSOLE, "withdraw code", "/topics/kernels"),
    ]
    assert told[1][3]["code"] == told[0][3]["code"] and told[2][3]["to"] == "ada"
    with database.write() as session:
        own.erase(session, ada)
    assert "ada" not in json.dumps(acts(database)).replace("bob", "")
    assert [who for who, *_ in acts(database)][1:3] == [audit.GONE, "bob"]
