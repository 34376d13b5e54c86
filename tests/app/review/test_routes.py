"""The pages of the review, without any script: ask, show the answer, grade, undo."""

from __future__ import annotations

import re

import pytest
from fastapi import FastAPI
from sqlalchemy import func, select

from app.course.store import CourseStore
from app.db import Database
from app.review.models import ReviewEvent
from tests.app.conftest import Browser

CARD = "online-softmax"


@pytest.fixture
def reader(browser: Browser) -> Browser:
    """Ada, who has read a card."""
    browser.sign_in_as("ada")
    browser.post("/progress/read", data={"kind": "card", "id": CARD})
    return browser


def field(html: str, name: str) -> str:
    found = re.search(rf'name="{name}" value="([^"]+)"', html)
    assert found is not None
    return found[1]


def test_it_belongs_to_an_account(browser: Browser) -> None:
    assert browser.get("/review").headers["location"].startswith("/sign-in")
    assert browser.get("/review/items").headers["location"].startswith("/sign-in")


def test_nothing_met_says_what_to_do(browser: Browser) -> None:
    browser.sign_in_as("ada")
    assert "Nothing to review yet" in browser.get("/review").text


def test_ask_answer_grade_undo(reader: Browser, course: CourseStore, database: Database) -> None:
    prompts = course.current.cards[CARD].prompts
    ask = reader.get("/review").text
    assert str(prompts[0].ask) in ask
    assert str(prompts[0].answer) not in ask
    key = field(ask, "key")
    answer = reader.get("/review", params={"answer": key}).text
    assert str(prompts[0].answer) in answer
    assert answer.count('name="rating"') == 4
    form = {"key": key, "token": field(answer, "token"), "rating": "3"}
    for _ in range(3):
        assert reader.post("/review/grade", data=form).headers["location"] == "/review"
    after = reader.get("/review").text
    assert "1 done today" in after
    assert "Good. It comes back in" in after
    with database.read() as session:
        assert session.scalar(select(func.count()).select_from(ReviewEvent)) == 1
    assert reader.post("/review/undo", data={"token": field(after, "token")}).status_code == 303
    assert "0 done today" in reader.get("/review").text


@pytest.mark.parametrize("rating", ["", "0", "5", "3.0", "x", "\0"])
def test_what_is_no_grade(reader: Browser, rating: str) -> None:
    page = reader.get("/review").text
    form = {"key": field(page, "key"), "token": field(page, "token"), "rating": rating}
    assert reader.post("/review/grade", data=form).status_code == 422


@pytest.mark.parametrize("key", ["card:none:none", "question:fused-kernel-drift", "card:kv-cache:x", ""])
def test_what_was_not_met_can_not_be_seen_or_graded(reader: Browser, key: str) -> None:
    form = {"key": key, "token": "token-000001", "rating": "3"}
    assert reader.post("/review/grade", data=form).status_code == 404
    assert reader.post("/review/suspend", data=form).status_code == 404
    if key:
        assert reader.get("/review", params={"answer": key}).status_code == 404


def test_suspending_and_taking_up_again(reader: Browser) -> None:
    page = reader.get("/review").text
    key = field(page, "key")
    reader.post("/review/suspend", data={"key": key, "token": field(page, "token")})
    assert f'value="{key}"' not in reader.get("/review").text
    items = reader.get("/review/items").text
    assert "Take up again" in items
    reader.post("/review/resume", data={"key": key, "token": "token-000002"})
    assert "Take up again" not in reader.get("/review/items").text
    other = reader.get("/review").text
    reader.post("/review/skip", data={"key": field(other, "key"), "token": field(other, "token")})
    assert "Put off until tomorrow" in reader.get("/review").text


def test_a_stranger_has_nothing_of_it(reader: Browser, application: FastAPI) -> None:
    page = reader.get("/review").text
    eve = Browser(application)
    eve.sign_in_as("eve")
    form = {"key": field(page, "key"), "token": "token-000001", "rating": "3"}
    assert eve.post("/review/grade", data=form).status_code == 404
    assert "Nothing to review yet" in eve.get("/review").text


def test_a_track_is_read_too(reader: Browser, course: CourseStore) -> None:
    track = next(track for track in course.current.tracks.values() if track.prompts)
    assert reader.post("/progress/read", data={"kind": "track", "id": track.id}).status_code == 303
    assert f"track:{track.id}:" in reader.get("/review/items").text
