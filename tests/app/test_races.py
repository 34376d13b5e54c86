"""The same thing asked for several times at once: no answer is our fault, and nothing is there twice.

`meeting` holds a request just before it writes until another one is there too, so that two that both read before
either writes do meet, on a slow machine as on a fast one. They have two connections between them: a request that
holds one while it asks for another would wait for ever.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import pytest
from fastapi import FastAPI
from sqlalchemy import event, select, text

from app.accounts.models import Role, User
from app.course import unlocks
from app.course.unlock_tables import Scope
from app.db import Database, new_id
from app.desk import service as desk
from app.security import Viewer
from app.submissions.grades import service as grades
from app.submissions.grades.models import Mark
from tests.app.conftest import Browser
from tests.app.desk.conftest import RUBRIC, TRACK
from tests.app.submissions.conftest import DRILL

AT_ONCE = 4
HANDED_IN = f"/drills/{DRILL}/submissions"
RUN = f"/drills/{DRILL}/runs"
ITEM = {"kind": "card", "id": "online-softmax"}
NOTE = "/notes/card/online-softmax"
QUESTION = "/questions/fused-kernel-drift"
SOURCE = {"source": "x = 1\n", "lane": "cpu", "mode": "passes"}


@dataclass(frozen=True)
class Ask:
    """One of the requests that arrive together."""

    path: str
    form: dict[str, str]


@dataclass
class Stage:
    """The application before the race."""

    application: FastAPI
    database: Database
    browser: Browser
    me: str

    def post(self, path: str, **form: str) -> None:
        assert self.browser.post(path, data=form).status_code == 303


@dataclass(frozen=True)
class Race:
    """What is asked for at once, what it writes, and what must be there afterwards."""

    writes: str  # how the statement begins before which they meet
    asks: Callable[[Stage], list[Ask]]
    there: str  # a query for one number
    is_: int = 1
    answers: dict[int, int] | None = None  # how many of each status; None: all lead on
    role: Role = Role.LEARNER
    signed_in: bool = True


def same(path: str, **form: str) -> Callable[[Stage], list[Ask]]:
    return lambda stage: [Ask(path, form)] * AT_ONCE


def each(path: str, field: str, **form: str) -> Callable[[Stage], list[Ask]]:
    """The same form but for one field."""
    return lambda stage: [Ask(path, {**form, field: f"different-{number}"}) for number in range(AT_ONCE)]


def a_second_save(stage: Stage) -> list[Ask]:
    stage.post(NOTE, text="first", version="0")
    return each(NOTE, "text", version="1")(stage)


def an_answer(stage: Stage) -> list[Ask]:
    stage.post("/progress/read", **ITEM)
    prompt = stage.application.state.course.current.cards[ITEM["id"]].prompts[0].id
    form = {"key": f"card:{ITEM['id']}:{prompt}", "rating": "3", "token": "token-of-a-form"}
    return same("/review/grade", **form)(stage)


def codes(stage: Stage) -> list[Ask]:
    """Different codes for the same thing."""
    with stage.database.write() as session:
        made = [unlocks.new_code(session, unlocks.Target(Scope.COURSE), most=1)[0] for _ in range(AT_ONCE)]
    return [Ask("/unlock", {"code": code}) for code in made]


def a_post(stage: Stage) -> str:
    answer = stage.browser.post(f"{QUESTION}/discussion", data={"text": "first"})
    return answer.headers["location"].rpartition("#post-")[2]


def an_item(stage: Stage) -> list[Ask]:
    """A reusable item of a rubric, which one grade uses."""
    drills = dict(stage.application.state.drills)
    drills[DRILL] = drills[DRILL].model_copy(update={"kind": "outline", "rubric": RUBRIC})
    stage.application.state.drills = drills
    Browser(stage.application).sign_in_as("lin")
    me = Viewer(stage.me, "ada", "admin")
    with stage.database.write() as session:
        lin = session.scalars(select(User.id).where(User.username == "lin")).one()
        item = desk.new_item(session, me, "outline", DRILL, "bytes", 1, "Reads only.")
        mark = Mark("bytes", "Counts the bytes", 1, 3, item.text, item.id, "")
        like = {"kind": "outline", "work": new_id(), "user_id": lin, "subject": DRILL}
        grades.add(session, me, None, like, (mark,), "")
    form = {"points": "2", "text": "Reads, with a formula.", "step": "do"}
    return same(f"/desk/rubrics/outline/{DRILL}/items/{item.id}", **form)(stage)


def a_password(stage: Stage) -> list[Ask]:
    Browser(stage.application).post("/sign-up", data={"username": "grace", "password": "correct horse"})
    return same("/sign-in", username="grace", password="correct horse")(stage)


CHOSEN = {"theme": "dark", "time_zone": "UTC", "editor_keys": "vim", "retention": "0.9", "daily_cap": "20"}
STALE = {303: 1, 409: AT_ONCE - 1}
RACES = {
    "bookmark": Race("INSERT INTO bookmarks", same("/bookmarks", **ITEM, on="yes"), "count(*) FROM bookmarks"),
    "read": Race("INSERT INTO readings", same("/progress/read", **ITEM), "count(*) FROM readings"),
    "first note": Race("INSERT INTO notes", each(NOTE, "text"), "count(*) FROM notes", answers=STALE),
    "next note": Race("UPDATE notes", a_second_save, "max(version) FROM notes", is_=2, answers=STALE),
    "hint": Race(
        "INSERT INTO hints_opened", same(f"/drills/{DRILL}/hints", hint="1"), "count(*) FROM hints_opened"
    ),
    "evidence": Race(
        "INSERT INTO evidence",
        each(f"/drills/{DRILL}/evidence", "notes"),
        "max(version) FROM evidence",
        answers=STALE,
    ),
    "draft": Race(
        "INSERT INTO draft_versions",
        same(f"/drills/{DRILL}/draft", source="x = 2\n"),
        "count(*) FROM draft_versions",
    ),
    "attempt": Race("INSERT INTO attempts", same(f"{QUESTION}/attempt", text="mine"), "count(*) FROM attempts"),
    "review": Race("INSERT INTO review_items", an_answer, "count(*) FROM review_events"),
    "submission": Race(
        "INSERT INTO submissions", same(HANDED_IN, token="token-of-a-form", **SOURCE), "count(*) FROM submissions"
    ),
    "rate": Race(
        "INSERT INTO submissions",
        each(HANDED_IN, "token", **SOURCE),
        "count(*) FROM submissions",
        is_=2,
        answers={303: 2, 429: AT_ONCE - 2},
    ),
    "visitors": Race(
        "INSERT INTO submissions",
        each(RUN, "token", **SOURCE),
        "count(*) FROM submissions",
        answers={303: 1, 503: AT_ONCE - 1},
        signed_in=False,
    ),
    "two tabs press Run": Race(
        "INSERT INTO submissions",
        lambda stage: [Ask(RUN, {**SOURCE, "token": f"token-of-tab-{tab}"}) for tab in (1, 2)],
        "count(*) FROM runs",
        is_=2,
    ),
    "Run is pressed again and again": Race(
        "INSERT INTO submissions", same(RUN, token="token-of-a-form", **SOURCE), "count(*) FROM runs"
    ),
    "one presses Run and one Submit": Race(
        "INSERT INTO predictions",
        lambda stage: [Ask(path, {**SOURCE, "token": "token-of-a-form"}) for path in (RUN, HANDED_IN)],
        "count(*) FROM predictions",
    ),
    "capstone": Race(
        "INSERT INTO capstones", same(f"/tracks/{TRACK}/capstone", text="It runs."), "count(*) FROM capstones"
    ),
    "codes": Race("INSERT INTO unlocks", codes, "count(*) FROM unlocks"),
    "settings": Race("INSERT INTO preferences", same("/settings", **CHOSEN), "count(*) FROM preferences"),
    "post": Race(
        "INSERT INTO posts", same(f"{QUESTION}/discussion", text="first"), "count(*) FROM posts", role=Role.AUTHOR
    ),
    "report": Race(
        "INSERT INTO reports",
        lambda stage: [Ask(f"/posts/{a_post(stage)}/report", {"reason": "spam"})] * AT_ONCE,
        "count(*) FROM reports",
        role=Role.AUTHOR,
    ),
    "rubric": Race(
        "INSERT INTO rubric_items",
        an_item,
        "count(*) FROM grades",
        is_=2,
        answers={303: 1, 404: AT_ONCE - 1},
        role=Role.ADMIN,
    ),
    "sign-up": Race(
        "INSERT INTO users",
        same("/sign-up", username="grace", password="correct horse"),
        "count(*) FROM users",
        answers={303: 1, 422: AT_ONCE - 1},
        signed_in=False,
    ),
    "sign-in": Race("INSERT INTO sign_ins", a_password, "count(*) FROM sign_ins", is_=1 + AT_ONCE, signed_in=False),
}


@contextmanager
def meeting(database: Database, statement: str) -> Iterator[None]:
    """Hold a statement that begins like this until a second one is there, or until none comes."""
    ready = threading.Barrier(2)

    def wait(_connection: Any, _cursor: Any, sent: str, *_: Any) -> None:
        if sent.startswith(statement):
            with suppress(threading.BrokenBarrierError):  # none came: the others wait for this one to end
                ready.wait(0.3)

    event.listen(database.engine, "before_cursor_execute", wait)
    yield
    event.remove(database.engine, "before_cursor_execute", wait)


@pytest.fixture
def stage(application: FastAPI, browser: Browser) -> Stage:
    """The application with two connections."""
    state = application.state
    state.database.close()
    state.database = Database(state.settings.database, pool_size=1)
    state.settings = state.settings.model_copy(update={"submissions_per_minute": 2, "visitors_waiting": 1})
    return Stage(application, state.database, browser, "")


@pytest.mark.parametrize("name", RACES)
def test_at_once_is_one_after_the_other(stage: Stage, name: str) -> None:
    race = RACES[name]
    if race.signed_in:
        stage.me = stage.browser.sign_in_as("ada", race.role)
    asks = race.asks(stage)

    def send(ask: Ask) -> int:
        clone = Browser(stage.application)
        clone.cookies = stage.browser.cookies
        return clone.post(ask.path, data=ask.form).status_code

    with meeting(stage.database, race.writes), ThreadPoolExecutor(len(asks)) as threads:
        answers = sorted(threads.map(send, asks))
    expected = race.answers or {303: len(asks)}
    assert answers == sorted(status for status, times in expected.items() for _ in range(times))
    with stage.database.read() as session:
        assert session.scalar(text(f"SELECT {race.there}")) == race.is_
