"""The discussion: its gate, threads, what one may change, and moderation. Gated text is in no answer."""

from __future__ import annotations

import re

import pytest
from fastapi import FastAPI
from sqlalchemy import delete, select

from app.accounts.audit import AuditEntry
from app.accounts.models import Role, User
from app.db import Database, new_id, now
from app.discussion.models import Post, Report
from app.jobs import Jobs
from tests.app.conftest import Browser
from tests.app.submissions.conftest import DRILL, live_run, record, start, verdict
from tests.app.submissions.test_routes import hand_in

QUESTION = "fused-kernel-drift"  # its answer is open to everybody
UNDER = f"/questions/{QUESTION}/discussion"
UNDER_DRILL = f"/drills/{DRILL}/discussion"


def somebody(application: FastAPI, name: str, role: Role = Role.LEARNER, inside: bool = True) -> Browser:
    browser = Browser(application)
    browser.sign_in_as(name, role)
    if inside and role is Role.LEARNER:
        browser.post(f"/questions/{QUESTION}/attempt", data={"text": "The sum is not rescaled."})
    return browser


def say(browser: Browser, text: str = "CANARY **bold**", parent: str = "") -> str:
    answer = browser.post(UNDER, data={"text": text, "parent": parent})
    found = re.fullmatch(rf"{UNDER}#post-([0-9a-z]+)", answer.headers.get("location", ""))
    assert found is not None, (answer.status_code, answer.headers.get("location"))
    return found[1]


def test_a_thread_is_read_and_answered(application: FastAPI) -> None:
    ada, lin = somebody(application, "ada"), somebody(application, "lin")
    first = say(ada)
    reply = say(lin, "Which line?", first)
    page = ada.get(UNDER).text
    assert "<strong>bold</strong>" in page and page.index(first) < page.index(reply)
    answer = ada.post(UNDER, data={"text": "deeper", "parent": reply})
    assert answer.status_code == 404  # one level


@pytest.mark.parametrize("who", ["nobody", "newcomer"])
def test_the_gate_of_a_question_keeps_every_word(application: FastAPI, who: str) -> None:
    post = say(somebody(application, "ada"))
    browser = Browser(application) if who == "nobody" else somebody(application, "new", inside=False)
    page = browser.get(UNDER)
    assert page.status_code == 200 and "Closed for now" in page.text
    for address in (UNDER, f"{UNDER}?before={post}", f"/posts/{post}/edit", f"/posts/{post}/report"):
        assert "CANARY" not in browser.get(address).text
    for address in (f"/posts/{post}/edit", f"/posts/{post}/delete", f"/posts/{post}/report", UNDER):
        assert "CANARY" not in browser.post(address, data={"text": "x", "reason": "x"}).text
    assert somebody(application, "ada").get(UNDER).text.count("CANARY") == 1


def test_the_gate_opens_by_reading_too_and_for_staff(application: FastAPI) -> None:
    say(somebody(application, "ada"))
    new = somebody(application, "new", inside=False)
    new.post("/progress/read", data={"kind": "question", "id": QUESTION})
    assert "CANARY" in new.get(UNDER).text
    assert "CANARY" in somebody(application, "editor", Role.AUTHOR).get(UNDER).text


def test_a_locked_answer_keeps_the_gate_shut(application: FastAPI) -> None:
    """Marked as read or not: who may not read the answer may not read what others say of it."""
    view = application.state.course.current
    from app.course.access import access_of
    from app.course.models import Access

    locked = next(one for one in view.questions.values() if access_of(one, view) is Access.LOCKED)
    browser = somebody(application, "ada")
    browser.post(f"/questions/{locked.id}/attempt", data={"text": "mine"})
    browser.post("/progress/read", data={"kind": "question", "id": locked.id})
    assert "Closed for now" in browser.get(f"/questions/{locked.id}/discussion").text
    assert browser.post(f"/questions/{locked.id}/self-score", data={}).status_code == 404


def test_the_gate_of_a_drill_opens_when_it_is_passed(application: FastAPI, database: Database, queue: Jobs) -> None:
    ada = somebody(application, "ada")
    assert "when your code is accepted" in ada.get(UNDER_DRILL).text
    assert ada.post(UNDER_DRILL, data={"text": "x"}).headers["location"] == UNDER_DRILL
    work = start(database, live_run(database, hand_in(ada)))
    assert work is not None
    record(database, queue, work, verdict())
    assert ada.post(UNDER_DRILL, data={"text": "Found it."}).status_code == 303
    assert "Found it." in ada.get(UNDER_DRILL).text


def test_only_ones_own_posts_change(application: FastAPI) -> None:
    ada, lin = somebody(application, "ada"), somebody(application, "lin")
    post = say(ada)
    assert lin.get(f"/posts/{post}/edit").status_code == 404
    for act in ("edit", "delete"):
        assert lin.post(f"/posts/{post}/{act}", data={"text": "mine"}).status_code == 404
    assert ada.post(f"/posts/{post}/edit", data={"text": " "}).status_code == 422
    ada.post(f"/posts/{post}/edit", data={"text": "Better said."})
    page = lin.get(UNDER).text
    assert "Better said." in page and "edited" in page and "CANARY" not in page


def test_a_deleted_post_is_gone_and_its_replies_stay(application: FastAPI, database: Database) -> None:
    ada, lin = somebody(application, "ada"), somebody(application, "lin")
    post = say(ada)
    say(lin, "A reply that stays.", post)
    ada.post(f"/posts/{post}/delete")
    page = lin.get(UNDER).text
    assert "Deleted by its author." in page and "A reply that stays." in page and "CANARY" not in page
    with database.read() as session:
        assert session.get_one(Post, post).text == ""
    assert ada.post(f"/posts/{post}/delete").status_code == 404
    assert lin.post(UNDER, data={"text": "late", "parent": post}).status_code == 404


def test_an_account_takes_its_posts_and_leaves_the_replies(application: FastAPI, database: Database) -> None:
    ada, lin = somebody(application, "ada"), somebody(application, "lin")
    say(lin, "A reply that stays.", say(ada))
    with database.write() as session:
        session.execute(delete(User).where(User.username == "ada"))
    page = lin.get(UNDER).text
    assert "A reply that stays." in page and "CANARY" not in page


def test_a_report_is_dealt_with_at_the_desk(application: FastAPI, database: Database) -> None:
    ada, lin = somebody(application, "ada"), somebody(application, "lin")
    root = somebody(application, "root", Role.ADMIN)
    post = say(ada)
    assert lin.post(f"/posts/{post}/report", data={"reason": " "}).status_code == 422
    for _ in range(2):
        assert lin.post(f"/posts/{post}/report", data={"reason": "It gives the fix away."}).status_code == 303
    with database.read() as session:
        assert len(session.scalars(select(Report)).all()) == 1
    ada.post(f"/posts/{post}/edit", data={"text": "Innocent."})
    page = root.get("/desk/reports").text
    assert "It gives the fix away." in page and "CANARY" in page  # as it read then
    assert root.post(f"/desk/posts/{post}/hide", data={"reason": ""}).status_code == 422
    assert root.post(f"/desk/posts/{post}/hide", data={"reason": "Spoiler."}).status_code == 303
    assert "Innocent." not in lin.get(UNDER).text
    mine = ada.get(UNDER).text
    assert "Hidden by a moderator" not in mine or "Innocent." not in mine
    assert ada.get(f"/posts/{post}/edit").status_code == 404
    assert "Nothing is reported" in root.get("/desk/reports").text
    root.post(f"/desk/posts/{post}/restore")
    assert "Innocent." in lin.get(UNDER).text
    with database.read() as session:
        acts = session.scalars(select(AuditEntry.action).order_by(AuditEntry.at)).all()
    assert acts == ["hide post", "restore post"]


def test_moderation_is_for_admins(application: FastAPI) -> None:
    ada, editor = somebody(application, "ada"), somebody(application, "editor", Role.AUTHOR)
    post = say(ada)
    for browser in (ada, editor):
        for address in ("/desk/reports", f"/desk/posts/{post}"):
            assert browser.get(address).status_code == 404
        for act in ("hide", "restore", "dismiss"):
            assert browser.post(f"/desk/posts/{post}/{act}", data={"reason": "x"}).status_code == 404
    assert "CANARY" in ada.get(UNDER).text


def test_threads_have_pages(application: FastAPI, database: Database) -> None:
    ada = somebody(application, "ada")
    with database.write() as session:
        user = session.scalars(select(User.id).where(User.username == "ada")).one()
        for n in range(25):
            session.add(
                Post(id=new_id(), kind="question", item=QUESTION, user_id=user, text=f"number-{n:02}-x", at=now())
            )
    first = ada.get(UNDER).text
    older = re.search(r'href="([^"]+\?before=[^"]+)"', first)
    assert older is not None
    rest = ada.get(older[1]).text
    seen = [(f"number-{n:02}-x" in first, f"number-{n:02}-x" in rest) for n in range(25)]
    assert seen == [(False, True)] * 5 + [(True, False)] * 20


def test_posting_has_a_rate(application: FastAPI) -> None:
    ada = somebody(application, "ada")
    answers = {ada.post(UNDER, data={"text": f"post {n}"}).status_code for n in range(31)}
    assert answers == {303, 429}


def test_odd_texts_are_kept_and_shown(application: FastAPI) -> None:
    ada = somebody(application, "ada")
    assert ada.post(UNDER, data={"text": "x" * 10_001}).status_code == 422
    say(ada, "\0 \u202e {{7*7}} %s \x1b[31m <script>alert(1)</script> [x](javascript:alert(1))")
    page = ada.get(UNDER)
    assert page.status_code == 200
    assert "<script>alert" not in page.text and 'href="javascript' not in page.text and "{{7*7}}" in page.text


def test_nothing_is_discussed_under_cards_or_what_is_missing(application: FastAPI) -> None:
    ada = somebody(application, "ada")
    for path in ("/questions/nowhere/discussion", "/drills/nowhere/discussion", "/cards/online-softmax/discussion"):
        assert ada.get(path).status_code == 404
        assert ada.post(path, data={"text": "x"}).status_code == 404
