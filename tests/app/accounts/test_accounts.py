"""Accounts: who gets in, who does not, and what nobody learns by trying."""

from __future__ import annotations

import statistics
import time
from datetime import timedelta

import pytest
from fastapi import FastAPI
from sqlalchemy import func, select, update

from app.accounts import service
from app.accounts.models import Role, SignIn, User
from app.accounts.preferences import preferences_of
from app.accounts.routes import COOKIE
from app.db import Database, now
from app.errors import InvalidForm
from tests.app.conftest import Browser

GOOD = {"username": "Ada.Lovelace", "password": "correct horse", "email": "ada@example.org"}


def sign_up(browser: Browser, **changes: str) -> int:
    return browser.post("/sign-up", data={**GOOD, **changes}).status_code


@pytest.mark.parametrize(
    ("named", "kept"),
    [("Europe/Berlin", "Europe/Berlin"), ("", "UTC"), ("Mars/Olympus", "UTC")],
)
def test_an_account_begins_in_the_time_zone_of_its_browser(
    browser: Browser, database: Database, named: str, kept: str
) -> None:
    browser.cookies.set("theme", "dark")
    answer = browser.post("/sign-up", data={**GOOD, "time_zone": named})
    assert answer.status_code == 303
    assert "theme=auto" not in str(answer.headers)  # the zone brings no other choice along
    with database.read() as session:
        user = session.scalars(select(User.id)).one()
        assert preferences_of(session, user).time_zone == kept


def test_from_sign_up_to_sign_out(browser: Browser, database: Database) -> None:
    answer = browser.post("/sign-up", data={**GOOD, "next": "/drills/tiled_softmax"})
    assert (answer.status_code, answer.headers["location"]) == (303, "/drills/tiled_softmax")
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=lax" in cookie
    assert browser.get("/progress").status_code == 200
    secret = browser.cookies[COOKIE]
    with database.read() as session:
        kept = session.scalars(select(SignIn.secret_hash)).all()
        assert secret not in kept  # a leaked database signs nobody in
        assert "correct horse" not in (session.scalars(select(User.password_hash)).one())
    assert browser.post("/sign-out").status_code == 303
    browser.cookies.set(COOKIE, secret)  # a copy of the cookie is worth nothing now
    assert browser.get("/progress").headers["location"].startswith("/sign-in")
    browser.cookies.clear()
    answer = browser.post("/sign-in", data={"username": "ada.LOVELACE", "password": "correct horse"})
    assert answer.headers["location"] == "/"
    assert browser.get("/progress").status_code == 200


def test_a_sign_in_always_has_a_new_secret(browser: Browser, database: Database) -> None:
    """Session fixation: a cookie that somebody planted is never the one that is signed in."""
    sign_up(browser)
    first = browser.cookies[COOKIE]
    browser.post("/sign-in", data=GOOD)
    assert browser.cookies[COOKIE] != first
    with database.read() as session:
        assert service.viewer_of(session, first) is None
        assert session.scalar(select(func.count()).select_from(SignIn)) == 1
    planted = "planted-by-somebody-else"
    browser.cookies.clear()
    browser.cookies.set(COOKIE, planted)
    browser.post("/sign-in", data=GOOD)
    with database.read() as session:
        assert service.viewer_of(session, planted) is None


def test_a_sign_in_ends(browser: Browser, database: Database) -> None:
    sign_up(browser)
    with database.write() as session:
        session.execute(update(SignIn).values(expires_at=now() - timedelta(seconds=1)))
    assert browser.get("/progress").status_code == 303


def test_a_new_role_signs_out(browser: Browser, database: Database) -> None:
    sign_up(browser)
    with database.write() as session:
        user = service.find(session, "ada.lovelace")
        assert user is not None
        service.change_role(session, user, Role.ADMIN)
    assert browser.get("/progress").status_code == 303


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("username", ""),
        ("username", "ab"),
        ("username", "a" * 33),
        ("username", "-ada"),
        ("username", "ada\0x"),
        ("username", "аda"),
        ("username", "<script>"),
        ("password", ""),
        ("password", "1234567"),
        ("password", "x" * 1025),
        ("email", "nobody"),
        ("email", "a b@example.org"),
        ("email", "a@example.org\r\nBcc: x@example.org"),
        ("email", "a" * 65 + "@example.org"),
    ],
)
def test_what_an_account_may_not_be(browser: Browser, database: Database, field: str, value: str) -> None:
    answer = browser.post("/sign-up", data={**GOOD, field: value})
    assert answer.status_code == 422
    assert 'name="username"' in answer.text
    with database.read() as session:
        assert session.scalar(select(func.count()).select_from(User)) == 0


def test_a_name_is_taken_in_any_case(application: FastAPI, browser: Browser) -> None:
    assert sign_up(browser) == 303
    assert sign_up(Browser(application), username="ADA.lovelace") == 422


def test_failure_says_nothing(application: FastAPI, browser: Browser) -> None:
    sign_up(browser)
    stranger = Browser(application)
    answers = {
        stranger.post("/sign-in", data={"username": name, "password": "wrong horse"}).text.replace(name, "")
        for name in ("Ada.Lovelace", "Nobody.Known")
    }
    assert len(answers) == 1
    assert service.WRONG in answers.pop()


def test_an_unknown_name_takes_as_long(database: Database) -> None:
    service.sign_up(database, "ada", "correct horse", "")

    def seconds(name: str) -> float:
        begun = time.thread_time()
        with database.read() as session, pytest.raises(InvalidForm):
            service.check(session, name, "wrong horse")
        return time.thread_time() - begun

    seconds("nobody")  # the first one makes the hash that stands in
    known, unknown = ([seconds(name) for _ in range(3)] for name in ("ada", "nobody"))
    assert 0.5 < statistics.median(known) / statistics.median(unknown) < 2.0


@pytest.mark.parametrize(
    "next",
    [
        "https://evil.example",
        "//evil.example",
        "/\\evil.example",
        "\\\\evil.example",
        "javascript:alert(1)",
        "/\tx",
        "/x\r\nSet-Cookie: a=b",
        "evil.example",
        "",
    ],
)
def test_no_redirect_leads_away(browser: Browser, next: str) -> None:
    answer = browser.post("/sign-up", data={**GOOD, "next": next})
    assert answer.headers["location"] == "/"
    assert browser.get("/sign-in", params={"next": next}).headers["location"] == "/"


def test_sign_in_is_limited_by_name_and_the_right_password_waits_too(
    browser: Browser, application: FastAPI
) -> None:
    sign_up(browser)
    wrong = {"username": "Ada.Lovelace", "password": "wrong horse"}
    limit = application.state.settings.sign_in_tries
    stranger = Browser(application)
    assert [stranger.post("/sign-in", data=wrong).status_code for _ in range(limit)] == [422] * limit
    refused = stranger.post("/sign-in", data={**wrong, "password": GOOD["password"]})
    assert refused.status_code == 429
    assert 0 < int(refused.headers["retry-after"]) <= 301
    other = {"username": "somebody.else", "password": "wrong horse"}
    assert stranger.post("/sign-in", data=other).status_code == 422


def test_sign_up_is_limited_by_address(browser: Browser, application: FastAPI) -> None:
    application.state.settings = application.state.settings.model_copy(update={"sign_up_tries": 2})
    assert [sign_up(browser, username=f"name-{n}") for n in range(3)] == [303, 303, 429]
