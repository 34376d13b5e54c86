"""A desk with an outline drill, learners who handed in, and two administrators."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from fastapi import FastAPI

from app.accounts.models import Role
from app.db import Database
from app.jobs import Jobs
from app.submissions.grades.models import WorkKind
from grader.drill import RubricItem
from grader.verdict import Outcome
from tests.app.conftest import Browser
from tests.app.submissions.conftest import DRILL, live_run, record, start, verdict

TRACK = "flashattention"
RUBRIC = (
    RubricItem(id="loops", text="Names the loop order", points=2, full="Says which loop is outside, and why."),
    RubricItem(id="bytes", text="Counts the bytes", points=3, full="Reads and writes, each with its formula."),
)


@pytest.fixture
def application(application: FastAPI) -> FastAPI:
    """One drill of the application is an outline, whose rest a person scores."""
    drills = dict(application.state.drills)
    drills[DRILL] = drills[DRILL].model_copy(update={"kind": "outline", "rubric": RUBRIC})
    application.state.drills = drills
    return application


@pytest.fixture
def root(application: FastAPI) -> Browser:
    """An administrator."""
    browser = Browser(application)
    browser.sign_in_as("root", Role.ADMIN)
    return browser


@pytest.fixture
def grace(application: FastAPI) -> Browser:
    """Another administrator."""
    browser = Browser(application)
    browser.sign_in_as("grace", Role.ADMIN)
    return browser


@pytest.fixture
def ada(application: FastAPI) -> Browser:
    """A learner."""
    browser = Browser(application)
    browser.sign_in_as("ada")
    return browser


HandInOutline = Callable[..., str]


@pytest.fixture
def outline(database: Database, queue: Jobs) -> HandInOutline:
    """Hand in an outline and let the grader decide; returns the submission's id."""

    def hand_in(who: Browser, token: str = "token-of-outline", outcome: Outcome = Outcome.ACCEPTED) -> str:
        form = {"source": f"# {token}\nx = 1\n", "lane": "cpu", "token": token}
        answer = who.post(f"/drills/{DRILL}/submissions", data=form)
        made = answer.headers["location"].removeprefix("/submissions/")
        work = start(database, live_run(database, made))
        assert work is not None
        record(database, queue, replace(work), verdict(outcome))
        return made

    return hand_in


def hand_in_capstone(who: Browser, text: str = "What I **built**.", **more: object) -> str:
    """Hand in a version of the track's capstone; returns its id."""
    answer = who.post(f"/tracks/{TRACK}/capstone", data={"text": text, **more}, files=[])
    assert answer.status_code == 303, answer.text
    return answer.headers["location"].removeprefix("/capstones/")


def address(kind: WorkKind, work: str) -> str:
    return f"/desk/{kind}/{work}"
