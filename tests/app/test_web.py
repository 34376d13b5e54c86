"""The frame round every page: who may change something, how much may be sent, what the headers promise, and how
every refusal is answered."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Literal

import pytest
from fastapi import FastAPI
from sqlalchemy import func, select

from app.accounts.models import User
from app.course.store import CourseStore
from app.db import Database, now
from app.errors import TooMany
from app.jobs import Heartbeat
from app.main import create_app
from app.security import spend
from app.settings import Settings, configure_logs
from tests.app.conftest import ORIGIN, Browser

pytestmark = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)

ACCOUNT = {"username": "ada", "password": "correct horse"}


def made(database: Database) -> int:
    with database.read() as session:
        return session.scalar(select(func.count()).select_from(User)) or 0


@pytest.mark.parametrize(
    ("headers", "passes"),
    [
        ({"sec-fetch-site": "same-origin"}, True),
        ({"sec-fetch-site": "none"}, True),  # typed into the address bar
        ({"sec-fetch-site": "same-site"}, False),  # a sister host is another site
        ({"sec-fetch-site": "cross-site"}, False),
        ({"sec-fetch-site": "cross-site", "origin": ORIGIN}, False),
        ({"sec-fetch-site": "same-origin", "origin": "https://evil.example"}, True),  # no page can forge the first
        ({"origin": ORIGIN}, True),
        ({"origin": "https://tilewright.test"}, False),  # another scheme
        ({"origin": "http://tilewright.test.evil.example"}, False),
        ({"origin": "null"}, False),
        ({"origin": ""}, False),
        ({}, True),  # no browser
    ],
)
def test_changes_come_from_our_own_pages(
    browser: Browser, database: Database, headers: dict[str, str], passes: bool
) -> None:
    del browser.headers["sec-fetch-site"]
    answer = browser.post("/sign-up", data=ACCOUNT, headers=headers)
    assert (answer.status_code, made(database)) == ((303, 1) if passes else (403, 0))
    if not passes:
        assert "Another site" in answer.text


def test_the_public_origin_counts_when_it_is_set(
    settings: Settings, course: CourseStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Behind a proxy our own host is not what browsers see."""
    monkeypatch.setattr(CourseStore, "open", lambda *_: course)
    browser = Browser(create_app(settings.model_copy(update={"public_origin": "https://learn.example.org"})))
    del browser.headers["sec-fetch-site"]
    assert browser.post("/sign-up", data=ACCOUNT, headers={"origin": ORIGIN}).status_code == 403
    answer = browser.post("/sign-up", data=ACCOUNT, headers={"origin": "https://learn.example.org"})
    assert answer.status_code == 303
    assert "max-age" in answer.headers["strict-transport-security"]
    assert "Secure" in answer.headers["set-cookie"]


def test_no_change_by_get(application: FastAPI) -> None:
    """Every route that changes something takes POST only; GET of it is an error."""
    browser = Browser(application)
    browser.sign_in_as("ada")
    for path in (
        "/sign-out",
        "/progress/read",
        "/submissions/x/cancel",
        "/drills/tiled_softmax/submissions",
        "/theme",
    ):
        assert browser.get(path).status_code == 405, path
    assert browser.get("/progress").status_code == 200


@pytest.mark.parametrize(
    "path",
    ["/", "/drills", "/drills/tiled_softmax", "/healthz", "/submissions", "/static/css/parts.css", "/nowhere"],
)
def test_head_is_get_without_the_body(browser: Browser, path: str) -> None:
    got, head = browser.get(path), browser.head(path)
    assert head.status_code == got.status_code
    assert head.content == b""
    assert head.headers.get("content-type") == got.headers.get("content-type")
    assert browser.head("/sign-out").status_code == 405


@pytest.mark.parametrize("path", ["/drills/", "/drills/tiled_softmax///", "//evil.example/", "/%5cevil.example/"])
def test_a_slash_too_many_leads_to_our_own_page(browser: Browser, path: str) -> None:
    answer = browser.get(ORIGIN + path, headers={"host": "evil.example"})
    assert answer.status_code == 307
    target = answer.headers["location"]
    assert target.startswith("/") and not target.startswith(("//", "/\\"))


def chunks() -> Iterator[bytes]:
    yield from (b"x" * 65536 for _ in range(20))


@pytest.mark.parametrize("path", ["/sign-up", "/drills/tiled_softmax/submissions", "/nowhere"])
def test_a_body_over_the_limit_is_refused_whether_or_not_it_says_so(browser: Browser, path: str) -> None:
    form = {"content-type": "application/x-www-form-urlencoded"}
    for content in (b"source=" + b"x" * (1 << 20), chunks()):
        answer = browser.post(path, content=content, headers=form)
        assert answer.status_code == 413
        assert "1,048,576 bytes" in answer.text


@pytest.mark.parametrize(
    "path", ["/", "/drills", "/drills/tiled_softmax", "/sign-in", "/nowhere", "/static/css/parts.css"]
)
def test_every_answer_has_the_strict_headers(browser: Browser, path: str) -> None:
    headers = browser.get(path).headers
    policy = dict(part.split(" ", 1) for part in headers["content-security-policy"].split("; "))
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == "'self'"
    assert "unsafe" not in headers["content-security-policy"]
    assert policy["frame-ancestors"] == policy["base-uri"] == "'none'"
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "same-origin"
    assert len(headers["x-request-id"]) == 16
    assert headers["cache-control"] == ("private, no-cache" if "/static/" not in path else "no-cache")


def test_static_files_asked_for_by_hash_are_kept(browser: Browser) -> None:
    assert "immutable" in browser.get("/static/css/parts.css?v=abc").headers["cache-control"]
    for odd in ("/static/../main.py", "/static/%2e%2e/main.py", "/static/nothing.css", "/static/%00"):
        assert browser.get(odd).status_code in (400, 404), odd


@pytest.mark.parametrize("path", ["/nowhere", "/drills/none", "/topics/none", "/cards/none", "/questions/none"])
def test_what_is_not_there_is_a_page_that_says_so(browser: Browser, path: str) -> None:
    answer = browser.get(path)
    assert answer.status_code == 404
    assert "There is nothing here" in answer.text
    told = browser.get(path, headers={"accept": "application/json"})
    assert told.json()["error"] == "There is nothing here"


@pytest.mark.parametrize(
    "odd", ["%00", "%ff%fe", "%ed%a0%80", "{{7*7}}", "%25s", "x" * 5000, "%E2%80%AE", "..%2f..%2f"]
)
def test_odd_addresses_are_pages_too(browser: Browser, odd: str) -> None:
    for path in (
        f"/drills/{odd}",
        f"/cards/{odd}",
        f"/tags/{odd}",
        f"/sign-in?next={odd}",
        f"/submissions?before={odd}",
    ):
        answer = browser.get(path)
        assert answer.status_code in (200, 303, 400, 404), path
        assert ">49<" not in answer.text


def test_odd_headers_are_pages_too(browser: Browser) -> None:
    for name in ("cookie", "accept", "referer", "last-event-id", "authorization", "accept-language"):
        for value in (b"\xff\xfe", b"tilewright=\xff; theme=\x80", b"x" * 8000, b"{{7*7}}"):
            assert browser.get("/", headers={name.encode(): value}).status_code == 200, (name, value[:20])


def test_when_something_of_ours_breaks_there_is_a_page_with_a_number(
    application: FastAPI, browser: Browser
) -> None:
    application.state.drills = None
    answer = browser.get("/drills")
    assert answer.status_code == 500
    assert answer.headers["x-request-id"] in answer.text
    assert "Traceback" not in answer.text
    assert "content-security-policy" in answer.headers


@pytest.mark.parametrize("log_format", ["console", "json"])
def test_nothing_secret_is_logged(
    application: FastAPI,
    browser: Browser,
    capfd: pytest.CaptureFixture[str],
    log_format: Literal["console", "json"],
) -> None:
    """Not even when a page breaks with the secret in its hands."""
    configure_logs(Settings(log_level="debug", log_format=log_format))
    browser.post("/sign-up", data={**ACCOUNT, "password": "SECRET-password"})
    browser.cookies.set("theme", "SECRET-cookie")
    application.state.settings = None
    answer = browser.post("/sign-in?next=SECRET-query", data={**ACCOUNT, "password": "SECRET-password"})
    assert answer.status_code == 500
    lines = "".join(capfd.readouterr()).splitlines()
    said = "\n".join(line for line in lines if "httpx2" not in line)  # the test's own browser logs too
    configure_logs(Settings(log_level="info", log_format="json"))
    assert "request failed" in said
    assert "Traceback" in said
    assert "SECRET" not in said
    assert browser.cookies["tilewright"] not in said


def test_the_banner_says_why_nothing_is_graded(application: FastAPI, browser: Browser, database: Database) -> None:
    def heard(trouble: str | None, ago: float = 0.0) -> str:
        with database.write() as session:
            row = session.get(Heartbeat, "w") or Heartbeat(id="w", lane="cpu", started_at=now(), slots=1, busy=0)
            row.trouble, row.seen_at = trouble, now() - timedelta(seconds=ago)
            session.add(row)
        application.state.banners = (-1e9, ())
        return browser.get("/").text

    assert "Grading is paused" in browser.get("/").text  # no worker at all
    assert "Grading is paused" not in heard(None)
    assert "bubblewrap is missing" in heard("bubblewrap is missing")
    assert "No worker is running" in heard(None, ago=60)


def test_probes_and_figures(browser: Browser, application: FastAPI, settings: Settings) -> None:
    assert browser.get("/healthz").text == "ok"
    assert browser.get("/readyz").text == "ready"
    browser.get("/drills")
    figures = browser.get("/metrics").text
    assert 'tilewright_requests_total{method="GET",route="/drills",status="200"} 1.0' in figures
    assert 'tilewright_runs_waiting{lane="cpu"} 0.0' in figures
    assert browser.get("/metrics", headers={"x-forwarded-for": "1.2.3.4"}).status_code == 404
    application.state.settings = settings.model_copy(update={"metrics_token": "secret"})
    assert browser.get("/metrics").status_code == 404
    assert browser.get("/metrics", headers={"authorization": "Bearer wrong"}).status_code == 404
    assert browser.get("/metrics", headers={"authorization": "Bearer secret"}).status_code == 200


def test_not_ready_without_tables(application: FastAPI, browser: Browser, database: Database) -> None:
    with database.engine.begin() as connection:
        connection.exec_driver_sql("DROP TABLE workers")
    assert browser.get("/readyz").status_code == 503
    assert browser.get("/healthz").status_code == 200


def test_a_rate_window_passes(database: Database) -> None:
    for _ in range(2):
        spend(database, "k", limit=2, seconds=60)
    with pytest.raises(TooMany) as refusal:
        spend(database, "k", limit=2, seconds=60)
    assert 0 < refusal.value.seconds <= 60
    spend(database, "another", limit=2, seconds=60)
    spend(database, "k", limit=2, seconds=0)  # the window has ended
