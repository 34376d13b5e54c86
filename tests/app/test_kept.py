"""Bookmarks and notes on both databases: private, harmless, and never overwritten unseen."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from fastapi import FastAPI

from app.course.models import Kind, Link
from app.db import Database
from app.errors import InvalidForm
from app.progress import kept
from app.progress.kept import StaleNote
from tests.app.conftest import Browser
from tests.app.submissions.conftest import add_user

CARD = Link(Kind.CARD, "online-softmax")
NOTE = "/notes/card/online-softmax"
ITEMS = [
    ("card", "online-softmax"),
    ("question", "fused-kernel-drift"),
    ("track", "flashattention"),
    ("drill", "tiled_softmax"),
]


def save(database: Database, user: str, text: str, version: int) -> None:
    with database.write() as session:
        kept.save_note(session, user, CARD, text, version)


def kept_text(database: Database, user: str) -> tuple[str, int] | None:
    with database.read() as session:
        row = kept.note_on(session, user, CARD)
    return None if row is None else (row.text, row.version)


@pytest.mark.parametrize(("kind", "id"), ITEMS)
def test_a_bookmark_comes_and_goes(browser: Browser, application: FastAPI, kind: str, id: str) -> None:
    href = Link(Kind(kind), id).href
    browser.sign_in_as("ada")
    form = {"kind": kind, "id": id, "on": "yes", "next": href}
    for _ in range(2):  # twice is once
        answer = browser.post("/bookmarks", data=form)
        assert (answer.status_code, answer.headers["location"]) == (303, href)
    assert browser.get("/bookmarks").text.count(f'href="{href}"') == 1
    assert 'aria-pressed="true"><svg class="glyph"' in browser.get(href).text
    other = Browser(application)
    other.sign_in_as("eve")
    assert href not in other.get("/bookmarks").text
    for _ in range(2):
        assert browser.post("/bookmarks", data={**form, "on": ""}).status_code == 303
    assert "Nothing is marked yet" in browser.get("/bookmarks").text


@pytest.mark.parametrize("path", ["/bookmarks", "/notes", NOTE])
def test_they_belong_to_an_account(browser: Browser, path: str) -> None:
    assert browser.get(path).headers["location"].startswith("/sign-in")
    if path != "/notes":
        assert browser.post(path, data={}).headers["location"].startswith("/sign-in")


@pytest.mark.parametrize(("kind", "id"), [("card", "none"), ("term", "tile"), ("", ""), ("drill", "../x")])
def test_only_what_exists_is_kept(browser: Browser, kind: str, id: str) -> None:
    browser.sign_in_as("ada")
    assert browser.post("/bookmarks", data={"kind": kind, "id": id, "on": "yes"}).status_code == 404
    assert browser.get(f"/notes/{kind or 'x'}/{id.replace('/', '') or 'x'}").status_code == 404


def test_a_note_is_private_and_harmless(browser: Browser, application: FastAPI) -> None:
    browser.sign_in_as("ada")
    text = "**mine** $m_i$ <script>alert(1)</script> [x](javascript:alert(1)) <img src=x onerror=alert(1)>"
    assert browser.post(NOTE, data={"text": text, "version": "0"}).headers["location"] == CARD.href
    for path in ("/notes", NOTE):
        page = browser.get(path).text
        assert "<strong>mine</strong>" in page
        assert 'class="katex"' in page
        for bad in ("<script>alert", "<img src=x", 'href="javascript'):
            assert bad not in page
    assert "Your note" in browser.get(CARD.href).text
    other = Browser(application)
    other.sign_in_as("eve")
    for path in ("/notes", NOTE, CARD.href):
        assert "mine" not in other.get(path).text.replace("determine", "")


def test_a_stale_save_keeps_both_texts(browser: Browser, database: Database) -> None:
    ada = browser.sign_in_as("ada")
    browser.post(NOTE, data={"text": "first", "version": "0"})
    browser.post(NOTE, data={"text": "from the phone", "version": "1"})
    stale = browser.post(NOTE, data={"text": "from the desk", "version": "1"})
    assert stale.status_code == 409
    assert "from the phone" in stale.text
    assert "from the desk" in stale.text
    assert 'name="version" value="2"' in stale.text
    assert kept_text(database, ada) == ("from the phone", 2)
    assert browser.post(NOTE, data={"text": "both", "version": "2"}).status_code == 303
    assert kept_text(database, ada) == ("both", 3)


def test_of_two_first_saves_one_waits(database: Database) -> None:
    ada = add_user(database, "ada")
    ready = threading.Barrier(4)

    def try_it(number: int) -> bool:
        ready.wait()
        try:
            save(database, ada, f"text {number}", 0)
        except StaleNote as error:
            return error.saved is None  # none of them lost to nothing
        return True

    with ThreadPoolExecutor(4) as threads:
        assert sum(threads.map(try_it, range(4))) == 1
    assert kept_text(database, ada) is not None


def test_saving_twice_is_saving_once(database: Database) -> None:
    ada = add_user(database, "ada")
    save(database, ada, "same", 0)
    save(database, ada, "same", 0)  # a double click carries the old version
    assert kept_text(database, ada) is not None
    with pytest.raises(StaleNote):
        save(database, ada, "other", 0)


def test_an_empty_note_is_gone(database: Database) -> None:
    ada = add_user(database, "ada")
    save(database, ada, "x", 0)
    save(database, ada, " \r\n", 1)
    assert kept_text(database, ada) is None
    with pytest.raises(StaleNote):
        save(database, ada, "y", 1)


@pytest.mark.parametrize("text", ["a\0b", "\ud800", "x" * 20_001])
def test_what_cannot_be_kept(database: Database, text: str) -> None:
    with pytest.raises(InvalidForm):
        save(database, add_user(database, "ada"), text, 0)
