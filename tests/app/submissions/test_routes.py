"""Submissions over HTTP: who may see what, the same token again, and any bytes in, a page out."""

from __future__ import annotations

import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from urllib.parse import quote_from_bytes

import pytest
from fastapi import FastAPI
from httpx2 import Response
from sqlalchemy import delete, func, select, update

from app.accounts.models import Role
from app.db import Database, now
from app.jobs import Heartbeat, Jobs
from app.settings import Settings
from app.submissions import service, view
from app.submissions.models import Submission
from grader.verdict import Outcome
from tests.app.accounts.test_brakes import at
from tests.app.conftest import Browser
from tests.app.submissions.conftest import DRILL, live_run, record, start, verdict

FORM = {"source": "x = 1\n", "lane": "cpu", "token": "token-of-a-form"}
ACTION = f"/drills/{DRILL}/submissions"


@pytest.fixture
def mine(browser: Browser) -> str:
    """The id of a submission of ada's, who is signed in."""
    browser.sign_in_as("ada")
    return hand_in(browser)


def hand_in(browser: Browser, **changes: str) -> str:
    answer = browser.post(ACTION, data={**FORM, **changes})
    assert answer.status_code == 303, answer.text
    return answer.headers["location"].removeprefix("/submissions/")


def count(database: Database) -> int:
    with database.read() as session:
        return session.scalar(select(func.count()).select_from(Submission)) or 0


def test_the_page_follows_the_submission(browser: Browser, mine: str, database: Database, queue: Jobs) -> None:
    page = browser.get(f"/submissions/{mine}")
    assert page.status_code == 200
    assert "you are next" in page.text
    work = start(database, live_run(database, mine))
    assert work is not None
    assert "A worker has it" in browser.get(f"/submissions/{mine}").text
    record(database, queue, work, verdict(Outcome.WRONG_ANSWER, sentence="Wrong in the last tile."))
    page = browser.get(f"/submissions/{mine}")
    assert "Wrong in the last tile." in page.text
    assert "SECRET" not in page.text
    assert "Wrong in the last tile." in browser.get("/submissions").text
    told = browser.get(f"/api/v1/submissions/{mine}").json()
    assert (told["state"], told["final"], told["verdict"]["outcome"]) == ("decided", True, "wrong_answer")
    assert "SECRET" not in str(told)


@pytest.mark.parametrize("last", ["-1", "x", "9" * 30, "9" * 5000, "\u00b2", "1;2", ""])
def test_any_last_event_id_gets_the_verdict(
    browser: Browser, mine: str, database: Database, queue: Jobs, last: str
) -> None:
    """A number of thousands of digits is more than `int` reads."""
    work = start(database, live_run(database, mine))
    assert work is not None
    record(database, queue, work, verdict(sentence="All is well."))
    headers = {"last-event-id": last.encode("latin-1")}
    stream = browser.get(f"/submissions/{mine}/events", headers=headers)  # type: ignore[arg-type]
    assert stream.status_code == 200 and "All is well." in stream.text
    assert browser.get(f"/submissions/{mine}/events?after={'9' * 5000}").status_code == 400


def test_a_double_click_is_one_submission(application: FastAPI, browser: Browser, database: Database) -> None:
    browser.sign_in_as("ada")

    def click(_: int) -> str:
        clone = Browser(application)
        clone.cookies = browser.cookies
        return hand_in(clone)

    with ThreadPoolExecutor(8) as threads:
        assert len(set(threads.map(click, range(20)))) == 1
    assert count(database) == 1


def test_windows_line_ends_become_ours(browser: Browser, database: Database) -> None:
    browser.sign_in_as("ada")
    made = hand_in(browser, source="a = 1\r\nb = 2\rc = 3\n")
    with database.read() as session:
        kept = session.get(Submission, made)
        assert kept is not None
        assert kept.source == "a = 1\nb = 2\nc = 3\n"


def test_what_is_refused_comes_back_with_what_was_typed(browser: Browser, database: Database) -> None:
    browser.sign_in_as("ada")
    answer = browser.post(ACTION, data={**FORM, "source": "mine = '\0'"})
    assert answer.status_code == 422
    assert "NUL byte" in answer.text
    assert "mine = " in answer.text
    token = re.search(r'name="token" value="([^"]+)"', answer.text)
    assert token is not None
    assert token[1] != FORM["token"]
    assert count(database) == 0


BODIES: dict[str, bytes] = {
    "NUL": b"source=%00&lane=cpu&token=aaaaaaaa",
    "invalid UTF-8": b"source=x%3D1%ff%fe&lane=cpu&token=aaaaaaab",
    "raw invalid UTF-8": b"source=x\xff\xfe&lane=cpu&token=aaaaaaac",
    "lone surrogate": b"source=%ed%a0%80&lane=cpu&token=aaaaaaad",
    "escape codes": b"source=%1b%5b31m&lane=cpu&token=aaaaaaae",
    "bidi": b"source=%s&lane=cpu&token=aaaaaaaf" % quote_from_bytes("\u202e#".encode()).encode(),
    "a line of 900 KB": b"source=" + b"x" * 900_000 + b"&lane=cpu&token=aaaaaaag",
    "template": b"source={{7*7}}%25s&lane=cpu&token=aaaaaaah",
    "no fields": b"",
    "odd lane": b"source=x&lane=%00&token=aaaaaaai",
    "odd token": b"source=x&lane=cpu&token=%00%ff",
    "twice": b"source=x&source=y&lane=cpu&lane=gpu&token=aaaaaaaj",
    "no form": b"\x00\xff\x00",
    "many fields": b"&".join(b"f%d=x" % n for n in range(20_000)),
}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_any_bytes_in_a_page_out(browser: Browser, body: bytes) -> None:
    browser.sign_in_as("ada")
    answer = browser.post(ACTION, content=body, headers={"content-type": "application/x-www-form-urlencoded"})
    assert answer.status_code in (303, 400, 413, 422), answer.text
    if answer.status_code == 303:
        page = browser.get(answer.headers["location"])
        assert page.status_code == 200
        assert "49%s" not in page.text
    else:
        assert "<h1" in answer.text or "editor-problem" in answer.text
    assert browser.get("/submissions").status_code == 200


@pytest.mark.parametrize(
    "content", [b"--x\r\nnonsense", b"", b'--x\r\nContent-Disposition: form-data; name="source"\r\n\r\nx\r\n--x--']
)
def test_multipart_of_any_kind(browser: Browser, content: bytes) -> None:
    browser.sign_in_as("ada")
    answer = browser.post(ACTION, content=content, headers={"content-type": "multipart/form-data; boundary=x"})
    assert answer.status_code in (400, 422)


def test_a_form_without_a_session_leads_to_signing_in(browser: Browser, database: Database) -> None:
    answer = browser.post(ACTION, data=FORM, headers={"referer": f"http://tilewright.test/drills/{DRILL}"})
    assert (answer.status_code, answer.headers["location"]) == (303, f"/sign-in?next=/drills/{DRILL}")
    assert count(database) == 0


Sees = Callable[[Browser], object]
ROUTES = [
    "GET /submissions/{}",
    "GET /api/v1/submissions/{}",
    "GET /submissions/{}/events",
    "POST /submissions/{}/cancel",
]


@pytest.mark.parametrize("route", ROUTES)
def test_only_the_owner_and_admins_see_a_submission(
    application: FastAPI, browser: Browser, mine: str, route: str
) -> None:
    """Somebody else's submission and one that does not exist are answered alike, in every byte that they share."""
    method, path = route.split()

    def ask(asker: Browser, which: str) -> tuple[int, str]:
        answer = asker.request(method, path.format(which))
        body = re.sub(r"[0-9a-z]{16}", "…", answer.text.replace(which, "…"))
        return answer.status_code, body

    if method == "GET" and "events" not in path:
        assert ask(browser, mine)[0] == 200
        admin = Browser(application)
        admin.sign_in_as("root", Role.ADMIN)
        assert ask(admin, mine)[0] == 200
    for role in (Role.LEARNER, Role.AUTHOR):
        stranger = Browser(application)
        stranger.sign_in_as(f"eve-{role}", role)
        assert ask(stranger, mine) == ask(stranger, "0" * 16)
        assert ask(stranger, mine)[0] == 404
    anonymous = Browser(application)
    expected = 401 if "/api/" in path else 303
    assert ask(anonymous, mine)[0] == ask(anonymous, "0" * 16)[0] == expected
    assert browser.get(f"/api/v1/submissions/{mine}").json()["state"] == "queued"  # nobody cancelled it


def test_odd_ids_are_not_found(browser: Browser) -> None:
    browser.sign_in_as("ada")
    for odd in ("%00", "%ff", "..%2f..", "x" * 4000, "%f0%9f%92%a9", "' OR 1=1 --"):
        assert browser.get(f"/submissions/{odd}").status_code in (400, 404), odd


def test_cancel(browser: Browser, mine: str, database: Database, queue: Jobs) -> None:
    work = start(database, live_run(database, mine))
    assert browser.post(f"/submissions/{mine}/cancel").headers["location"] == f"/submissions/{mine}"
    assert "took this back" in browser.get(f"/submissions/{mine}").text
    assert browser.post(f"/submissions/{mine}/cancel").status_code == 303  # twice is once
    assert work is not None
    assert not record(database, queue, work, verdict())


def test_cancelling_too_late_shows_the_verdict(
    browser: Browser, mine: str, database: Database, queue: Jobs
) -> None:
    work = start(database, live_run(database, mine))
    assert work is not None
    record(database, queue, work, verdict(sentence="All right."))
    assert browser.post(f"/submissions/{mine}/cancel").status_code == 303
    assert "All right." in browser.get(f"/submissions/{mine}").text


def test_history_has_pages(browser: Browser) -> None:
    browser.sign_in_as("ada")
    made = [hand_in(browser, token=f"token-{n:04}") for n in range(27)]
    first = browser.get("/submissions").text
    older = re.search(r'href="(/submissions\?before=[^"]+)"', first)
    assert older is not None
    rest = browser.get(older[1]).text
    shown = [which in first for which in made], [which in rest for which in made]
    assert shown == ([False] * 2 + [True] * 25, [True] * 2 + [False] * 25)


def test_the_workspace_opens_with_the_newest_source(browser: Browser) -> None:
    browser.sign_in_as("ada")
    assert "the starter" in browser.get(f"/drills/{DRILL}").text
    hand_in(browser, source="mine = 1\n")
    assert "mine = 1" in browser.get(f"/drills/{DRILL}").text


RUN = f"/drills/{DRILL}/runs"


def run_of(answer: Response) -> str:
    assert answer.status_code == 303, answer.text
    return answer.headers["location"].removeprefix("/submissions/")


def test_a_run_is_no_attempt(browser: Browser, database: Database, queue: Jobs) -> None:
    """The two buttons of one form carry the same token, and make a trial and a submission."""
    user = browser.sign_in_as("ada")
    trial = run_of(browser.post(RUN, data=FORM))
    assert trial == run_of(browser.post(RUN, data=FORM))
    work = start(database, live_run(database, trial))
    assert work is not None
    assert work.trial
    record(database, queue, work, verdict(Outcome.ACCEPTED, sentence="The visible cases passed."))
    page = browser.get(f"/submissions/{trial}").text
    assert "counts as no attempt" in page
    assert "Submission 1" not in page
    assert trial not in browser.get("/submissions").text
    with database.read() as session:
        assert view.passed(session, user) == {}
        assert view.tried(session, user) == set()
        assert view.newest(session, user, DRILL) is None
    submission = hand_in(browser)
    assert submission != trial
    assert "Submission 1" in browser.get(f"/submissions/{submission}").text


def test_a_visitor_may_run_and_nobody_else_sees_it(
    application: FastAPI, browser: Browser, database: Database, queue: Jobs
) -> None:
    assert browser.post(ACTION, data=FORM).headers["location"].startswith("/sign-in")  # submitting needs an account
    trial = run_of(browser.post(RUN, data=FORM))
    assert trial == run_of(browser.post(RUN, data=FORM))
    page = browser.get(f"/submissions/{trial}")
    assert page.status_code == 200
    work = start(database, live_run(database, trial))
    assert work is not None
    record(database, queue, work, verdict(Outcome.WRONG_ANSWER, sentence="Wrong in the last tile."))
    assert "SECRET" not in browser.get(f"/submissions/{trial}").text
    other = Browser(application)
    assert other.get(f"/submissions/{trial}").headers["location"].startswith("/sign-in")
    other.cookies.set("tilewright_visitor", "guessed")
    assert other.get(f"/submissions/{trial}").headers["location"].startswith("/sign-in")
    other.sign_in_as("eve")
    assert other.get(f"/submissions/{trial}").status_code == 404


def test_visitors_run_so_much_and_no_more(application: FastAPI, settings: Settings) -> None:
    def run_anew(number: int) -> int:
        return Browser(application).post(RUN, data={**FORM, "token": f"token-{number:04d}"}).status_code

    waiting = [run_anew(number) for number in range(settings.visitors_waiting + 1)]
    assert waiting == [303] * settings.visitors_waiting + [503]
    more = [run_anew(number) for number in range(100, 100 + settings.visitor_runs)]
    assert 429 in more
    assert 303 not in more
    application.state.settings = settings.model_copy(update={"visitor_runs": 0})
    assert Browser(application).post(RUN, data=FORM).headers["location"].startswith("/sign-in")


def test_visitors_of_one_network_share_its_runs(application: FastAPI, settings: Settings) -> None:
    application.state.settings = settings.model_copy(update={"visitor_runs": 2, "visitors_waiting": 99})

    def run_from(host: str, number: int) -> int:
        return at(application, host).post(RUN, data={**FORM, "token": f"token-{number:04d}"}).status_code

    assert [run_from(f"2001:db8:1:2::{number}", number) for number in (1, 2, 3)] == [303, 303, 429]
    assert run_from("2001:db8:1:3::1", 4) == 303


def test_trials_are_forgotten_and_attempts_are_not(browser: Browser, database: Database) -> None:
    visited = run_of(browser.post(RUN, data=FORM))
    browser.sign_in_as("ada")
    kept, tried = hand_in(browser), run_of(browser.post(RUN, data=FORM))

    def left_after(age: timedelta) -> set[str]:
        with database.write() as session:
            session.execute(update(Submission).values(submitted_at=now() - age))
            service.forget_trials(session)
            return set(session.scalars(select(Submission.id)))

    assert left_after(timedelta(minutes=50)) == {visited, kept, tried}
    assert left_after(timedelta(minutes=70)) == {kept, tried}
    assert left_after(timedelta(days=400)) == {kept}


def test_a_lane_without_a_worker_is_not_a_place_in_a_queue(browser: Browser, mine: str, database: Database) -> None:
    with database.write() as session:
        session.execute(delete(Heartbeat))
    page = browser.get(f"/submissions/{mine}").text
    assert "No worker is running here" in page
    assert "you are next" not in page
