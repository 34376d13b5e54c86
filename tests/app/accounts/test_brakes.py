"""Guessing is slow, and no stranger can lock an owner out."""

from __future__ import annotations

import pytest
from fastapi import FastAPI
from sqlalchemy import update
from starlette.requests import Request

from app.accounts import brakes
from app.accounts.brakes import BRAKE, KNOWN_COOKIE
from app.accounts.models import KnownBrowser
from app.accounts.routes import COOKIE
from app.db import Database, now
from app.security import RateWindow
from tests.app.accounts.test_accounts import GOOD, sign_up
from tests.app.conftest import Browser


def at(application: FastAPI, address: str) -> Browser:
    """A browser at an address."""
    browser = Browser(application)
    browser._transport.client = (address, 50_000)  # type: ignore[attr-defined]
    return browser


WRONG = {**GOOD, "password": "wrong horse"}


def use_up(browser: Browser, application: FastAPI) -> None:
    for _ in range(application.state.settings.sign_in_tries):
        assert browser.post("/sign-in", data=WRONG).status_code == 422
    assert browser.post("/sign-in", data=GOOD).status_code == 429


def test_wrong_guesses_from_elsewhere_lock_nobody_out(application: FastAPI, browser: Browser) -> None:
    sign_up(browser)
    browser.cookies.clear()
    use_up(at(application, "203.0.113.9"), application)
    assert at(application, "198.51.100.7").post("/sign-in", data=GOOD).status_code == 303


def test_one_network_counts_as_one(application: FastAPI, browser: Browser) -> None:
    sign_up(browser)
    use_up(at(application, "2001:db8:1:2::1"), application)
    assert at(application, "2001:db8:1:2:ffff::9").post("/sign-in", data=GOOD).status_code == 429
    assert at(application, "2001:db8:1:3::1").post("/sign-in", data=GOOD).status_code == 303


def test_many_networks_are_slowed_down_but_a_known_browser_is_not(
    application: FastAPI, browser: Browser, database: Database
) -> None:
    sign_up(browser)
    with database.write() as session:  # as if a hundred networks had guessed
        session.add(RateWindow(key="sign-in:name:ada.lovelace", since=now(), tries=BRAKE))
    assert at(application, "203.0.113.1").post("/sign-in", data=GOOD).status_code == 429
    owner = at(application, "203.0.113.2")
    owner.cookies.set(KNOWN_COOKIE, browser.cookies[KNOWN_COOKIE])
    assert owner.post("/sign-in", data=GOOD).status_code == 303


def test_a_known_browser_has_a_limit_of_its_own(application: FastAPI, browser: Browser) -> None:
    sign_up(browser)
    thief = at(application, "203.0.113.1")
    thief.cookies.set(KNOWN_COOKIE, browser.cookies[KNOWN_COOKIE])
    use_up(thief, application)
    assert at(application, "203.0.113.2").post("/sign-in", data=GOOD).status_code == 303


def test_being_known_counts_for_ones_own_account_only(
    application: FastAPI, browser: Browser, database: Database
) -> None:
    sign_up(browser)
    stranger = at(application, "203.0.113.1")
    sign_up(stranger, username="eve.eavesdrop")
    assert brakes.knows(database, stranger.cookies[KNOWN_COOKIE], "eve.eavesdrop")
    assert not brakes.knows(database, stranger.cookies[KNOWN_COOKIE], "ada.lovelace")
    assert not brakes.knows(database, "invented", "ada.lovelace")


def test_being_known_signs_nobody_in(browser: Browser, database: Database) -> None:
    sign_up(browser)
    known = browser.cookies[KNOWN_COOKIE]
    browser.cookies.clear()
    browser.cookies.set(KNOWN_COOKIE, known)
    browser.cookies.set(COOKIE, known)
    assert browser.get("/progress").status_code == 303
    with database.write() as session:
        session.execute(update(KnownBrowser).values(secret_hash="0" * 64))
    browser.cookies.clear()
    browser.post("/sign-in", data=GOOD)
    assert browser.cookies[KNOWN_COOKIE] != known


@pytest.mark.parametrize(
    ("host", "network"),
    [
        ("203.0.113.9", "203.0.113.9"),
        ("2001:db8:1:2::1", "2001:db8:1:2::/64"),
        ("::ffff:203.0.113.9", "203.0.113.9"),
        ("testclient", "testclient"),
        ("x" * 200, "x" * 64),
        ("", "unknown"),
    ],
)
def test_an_address_as_a_key(host: str, network: str) -> None:
    assert brakes.address_of(Request({"type": "http", "headers": [], "client": (host, 1)})) == network
