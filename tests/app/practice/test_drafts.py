"""Drafts: nothing is overwritten, nothing saved is lost, the list stays short, and nobody sees another's."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
from fastapi import FastAPI
from sqlalchemy import func, select

from app.db import Database
from app.practice import drafts
from app.practice.models import Cause, DraftVersion
from app.submissions.models import Submission
from tests.app.conftest import Browser
from tests.app.submissions.conftest import DRILL, add_user

SAVE = f"/drills/{DRILL}/draft"
JSON = {"accept": "application/json"}


@pytest.fixture
def ada(database: Database) -> str:
    return add_user(database, "ada")


def save(database: Database, user: str, source: str, base: int, cause: Cause = Cause.AUTO) -> drafts.Saved:
    with database.write() as session:
        return drafts.save(session, user, DRILL, source, base, cause)


def texts(database: Database, user: str) -> dict[int, tuple[str, str]]:
    with database.read() as session:
        return {one.number: (one.cause, one.source) for one in drafts.versions_of(session, user, DRILL)}


def test_a_save_on_the_newest_version_becomes_the_draft(database: Database, ada: str) -> None:
    first = save(database, ada, "one", 0, Cause.SAVED)
    second = save(database, ada, "two", first.kept.number, Cause.SAVED)
    assert not second.stale
    assert texts(database, ada) == {1: ("saved", "one"), 2: ("saved", "two")}
    assert not save(database, ada, "two", 0).stale, "the text that is there already is no conflict"
    assert len(texts(database, ada)) == 2


def test_a_stale_save_keeps_both_texts(database: Database, ada: str) -> None:
    save(database, ada, "one", 0, Cause.SAVED)
    save(database, ada, "two", 1, Cause.SAVED)
    late = save(database, ada, "other", 1)
    assert late.stale
    assert (late.draft.source, late.kept.source) == ("two", "other")
    assert texts(database, ada)[3] == ("aside", "other")
    assert save(database, ada, "other", 1).kept.number == 3, "the same again is put aside once"
    with database.write() as session:
        assert drafts.restore(session, ada, DRILL, 3).kept.source == "other"
    assert [text for _, text in texts(database, ada).values()] == ["one", "two", "other"]
    with database.read() as session:
        newest = drafts.current(session, ada, DRILL)
    assert newest is not None
    assert newest.source == "other"


def test_many_at_once_lose_nothing(database: Database, ada: str) -> None:
    """Eight tabs save at once, all written on the same version: one becomes the draft, seven are put aside."""
    save(database, ada, "start", 0, Cause.SAVED)
    ready = threading.Barrier(8)

    def tab(number: int) -> bool:
        ready.wait()
        return save(database, ada, f"tab {number}", 1).stale

    with ThreadPoolExecutor(8) as pool:
        stale = list(pool.map(tab, range(8)))
    assert stale.count(False) == 1
    kept = texts(database, ada)
    assert {text for _, text in kept.values()} == {"start", *(f"tab {n}" for n in range(8))}
    assert [cause for cause, _ in kept.values()].count("aside") == 7


def versions(*facts: tuple[Cause, int]) -> list[DraftVersion]:
    """Versions by cause and the second they were saved at."""
    begin = datetime(2026, 1, 1, tzinfo=UTC)
    return [
        DraftVersion(number=number, cause=cause, saved_at=begin + timedelta(seconds=at), source="")
        for number, (cause, at) in enumerate(facts, start=1)
    ]


def test_of_what_was_saved_by_itself_the_last_of_each_window_stays() -> None:
    typed = versions(*((Cause.AUTO, 3 * n) for n in range(100)))
    assert {one.number for one in typed} - drafts.superseded(typed) == {40, 80, 100}
    kept = versions((Cause.AUTO, 0), (Cause.SAVED, 1), (Cause.AUTO, 2), (Cause.ASIDE, 3), (Cause.AUTO, 4))
    assert drafts.superseded(kept) == {1, 3}


def test_the_list_is_bounded_and_the_draft_stays() -> None:
    many = versions(
        *((cause, 200 * n) for n, cause in enumerate([Cause.SAVED, Cause.AUTO, Cause.ASIDE] * 40)), (Cause.AUTO, 1)
    )
    left = [one for one in many if one.number not in drafts.superseded(many)]
    assert len(left) == drafts.MOST
    assert left[-1].number == many[-1].number
    assert sum(one.cause == Cause.ASIDE for one in left) == drafts.MOST_ASIDE
    assert sum(one.cause == Cause.SAVED for one in left) > sum(one.cause == Cause.AUTO for one in left)


def test_saving_over_http(browser: Browser, database: Database) -> None:
    user = browser.sign_in_as("ada")
    first = browser.post(SAVE, data={"source": "one\r\ntwo", "base": "0", "auto": "1"}, headers=JSON)
    assert (first.status_code, first.json()["version"]) == (200, 1)
    assert texts(database, user) == {1: ("auto", "one\ntwo")}
    late = browser.post(SAVE, data={"source": "mine", "base": "0", "auto": "1"}, headers=JSON)
    assert (late.status_code, late.json()["source"], late.json()["aside"]) == (409, "one\ntwo", 2)
    page = browser.get(late.json()["compare"])
    assert page.status_code == 200
    assert "put aside" in page.text
    assert "one\ntwo" in browser.get(f"/drills/{DRILL}").text
    with database.read() as session:
        assert session.scalar(select(func.count()).select_from(Submission)) == 0, "a draft is never graded"


def test_saving_without_javascript(browser: Browser, database: Database) -> None:
    user = browser.sign_in_as("ada")
    answer = browser.post(SAVE, data={"source": "one", "base": "0"})
    assert (answer.status_code, answer.headers["location"]) == (303, f"/drills/{DRILL}?saved=1#editor")
    assert "saved" in browser.get(f"/drills/{DRILL}?saved=1").text
    late = browser.post(SAVE, data={"source": "other text", "base": "0"})
    assert late.status_code == 409
    assert "Two texts, both kept" in late.text
    assert "other text" in late.text
    assert browser.post(f"/drills/{DRILL}/drafts/2/restore").status_code == 303
    assert "other text" in browser.get(f"/drills/{DRILL}").text
    assert browser.post(f"/drills/{DRILL}/drafts/1/discard").status_code == 303
    assert browser.post(f"/drills/{DRILL}/drafts/1/discard").status_code == 303  # twice is once
    assert set(texts(database, user)) == {3}
    assert browser.post(f"/drills/{DRILL}/drafts/3/discard").status_code == 303  # the draft itself stays
    assert set(texts(database, user)) == {3}
    assert browser.get(f"/drills/{DRILL}/drafts").status_code == 200


def test_nobody_else_sees_or_changes_a_draft(application: FastAPI, browser: Browser, database: Database) -> None:
    user = browser.sign_in_as("ada")
    browser.post(SAVE, data={"source": "PRIVATE", "base": "0"})
    other = Browser(application)
    for path in (f"/drills/{DRILL}/drafts/1", f"/drills/{DRILL}/diff?new=draft-1", f"/drills/{DRILL}/drafts"):
        assert other.get(path).headers["location"].startswith("/sign-in")
    other.sign_in_as("eve")
    for path in (f"/drills/{DRILL}/drafts/1", f"/drills/{DRILL}/diff?new=draft-1", f"/drills/{DRILL}/diff"):
        assert other.get(path).status_code == 404
    assert other.post(f"/drills/{DRILL}/drafts/1/restore").status_code == 404
    assert other.post(f"/drills/{DRILL}/drafts/1/discard").status_code == 303
    assert "PRIVATE" not in other.get(f"/drills/{DRILL}").text
    assert texts(database, user) == {1: ("saved", "PRIVATE")}


@pytest.mark.parametrize(
    ("source", "status"),
    [("", 303), ("x" * 70_000, 422), ("a\0b", 422), ("\x1b[31m{{7*7}} %s \u202e", 303), ("a" * 60_000, 303)],
)
def test_any_text_in_a_page_out(browser: Browser, source: str, status: int) -> None:
    browser.sign_in_as("ada")
    assert browser.post(SAVE, data={"source": source, "base": "0"}).status_code == status
    for path in ("", "/drafts", "/diff?layout=inline"):
        assert browser.get(f"/drills/{DRILL}{path}").status_code in ((200,) if status == 303 else (200, 404))


def test_a_draft_that_cannot_be_kept_says_why(browser: Browser) -> None:
    browser.sign_in_as("ada")
    for source, why in (("x" * 70_000, "Shorten it"), ("a\0b", "NUL")):
        answer = browser.post(SAVE, data={"source": source, "base": "0", "auto": "1"}, headers=JSON)
        assert answer.status_code == 422
        assert why in answer.json()["message"]


@pytest.mark.parametrize("ref", ["", "draft-0", "draft-x", "draft-99999999999999", "nobody", "x" * 900, "draft-٣"])
def test_a_text_that_is_not_there(browser: Browser, ref: str) -> None:
    browser.sign_in_as("ada")
    assert browser.get(f"/drills/{DRILL}/diff", params={"old": ref, "new": "starter"}).status_code == 404
    assert browser.get(f"/drills/{DRILL}/diff?old=starter&new=starter").status_code == 200


def test_the_diff_of_two_submissions_and_back_to_the_starter(browser: Browser) -> None:
    browser.sign_in_as("ada")
    ids = []
    for number in (1, 2):
        form = {"source": f"x = {number}\n", "lane": "cpu", "token": f"a-token-{number}"}
        answer = browser.post(f"/drills/{DRILL}/submissions", data=form)
        assert answer.status_code == 303, answer.text
        ids.append(answer.headers["location"].split("/")[-1])
    page = browser.get(f"/drills/{DRILL}/diff?old={ids[0]}&new={ids[1]}")
    assert page.status_code == 200
    assert "Submission 1" in page.text and "Submission 2" in page.text
    assert "<mark>1</mark>" in page.text and "<mark>2</mark>" in page.text
    assert browser.get(f"/drills/{DRILL}/diff?old=starter&new={ids[1]}&layout=inline").status_code == 200
    assert browser.get(f"/drills/online_softmax_tile/diff?old={ids[0]}&new={ids[1]}").status_code == 404
