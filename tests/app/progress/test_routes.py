"""The progress page, and how often a page asks how far its reader is."""

from __future__ import annotations

import pytest
from fastapi import FastAPI
from sqlalchemy.orm import Session

from app.progress.service import Standings
from tests.app.conftest import Browser
from tests.app.submissions.conftest import DRILL

pytestmark = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)


@pytest.mark.parametrize(
    "path", ["/", "/progress", "/drills", f"/drills/{DRILL}", f"/drills/{DRILL}/discussion", "/review", "/nowhere"]
)
def test_a_page_asks_once_how_far_its_reader_is(application: FastAPI, browser: Browser, path: str) -> None:
    browser.sign_in_as("ada")
    gather, asked = application.state.standings, []

    def counted(session: Session, user: str) -> Standings:
        asked.append(user)
        found: Standings = gather(session, user)
        return found

    application.state.standings = counted
    browser.get(path)
    assert len(asked) == 1


def test_who_has_begun_nothing_is_told_where(browser: Browser) -> None:
    browser.sign_in_as("ada")
    assert "Begin with" in browser.get("/progress").text
    browser.post("/progress/read", data={"kind": "card", "id": "online-softmax"})
    page = browser.get("/progress").text
    assert "Begin with" not in page and "1 piece read" in page
