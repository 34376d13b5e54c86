"""The web application on a real database, and a browser on it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from app.accounts import service as accounts
from app.accounts.models import Role, User
from app.accounts.routes import COOKIE
from app.course.store import CourseStore
from app.db import Database, new_id, now
from app.main import create_app
from app.settings import ROOT, Settings, configure_logs

ORIGIN = "http://tilewright.test"


@pytest.fixture(autouse=True, scope="session")
def logs() -> None:
    """Log as the web process does."""
    configure_logs(Settings(log_level="info", log_format="json"))


@pytest.fixture(scope="session")
def course() -> CourseStore:
    """The real course, compiled once a session."""
    return CourseStore.open(ROOT / "content", ROOT / "drills")


@pytest.fixture
def application(settings: Settings, course: CourseStore, monkeypatch: pytest.MonkeyPatch) -> Iterator[FastAPI]:
    """The web application on that database."""
    monkeypatch.setattr(CourseStore, "open", lambda *_: course)
    made = create_app(settings)
    yield made
    made.state.jobs.close()
    made.state.database.close()


class Browser(TestClient):
    """A browser on our own site: it keeps cookies, says where its requests come from, and follows no redirect."""

    def __init__(self, application: FastAPI) -> None:
        super().__init__(
            application,
            base_url=ORIGIN,
            follow_redirects=False,
            headers={"accept": "text/html", "sec-fetch-site": "same-origin"},
        )

    def sign_in_as(self, name: str, role: Role = Role.LEARNER) -> str:
        """Make the account if there is none, and sign this browser in to it; returns the account's id."""
        database: Database = self.app.state.database  # type: ignore[attr-defined]
        with database.write() as session:
            user = accounts.find(session, name)
            if user is None:
                user = User(
                    id=new_id(), username=name, username_key=name, password_hash="!", role=role, created_at=now()
                )
                session.add(user)
                session.flush()
            self.cookies.set(COOKIE, accounts.begin(session, user, "", 1))
        return user.id


@pytest.fixture
def browser(application: FastAPI) -> Browser:
    """A browser that nobody is signed in to."""
    return Browser(application)
