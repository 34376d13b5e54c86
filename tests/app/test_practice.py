"""Both homes, the drills, the workspace and progress: they follow from what was read, tried and passed."""

from __future__ import annotations

import re

import pytest
from fastapi import FastAPI
from markupsafe import escape

from app.course.access import View, visible_to
from app.course.models import Kind, Link
from app.course.store import CourseStore
from app.db import Database, now
from app.jobs import Heartbeat, Jobs
from app.practice.service import along_path, first_drill, resume, up_next, where
from app.progress.pages import Standing
from app.progress.service import Standings, overview
from app.settings import ROOT
from app.submissions.lanes import lane_note
from grader.drill import load_drills
from grader.verdict import Lane, Outcome
from tests.app.conftest import Browser
from tests.app.submissions.conftest import live_run, record, start, verdict
from tests.app.submissions.test_routes import hand_in

DRILLS = load_drills(ROOT / "drills")
DRILL = "tiled_softmax"


@pytest.fixture
def view(course: CourseStore) -> View:
    return visible_to(None, course.current)


def test_up_next_walks_the_tracks_and_leaves_out_what_is_done(view: View) -> None:
    fresh = up_next(view, Standings(), None)
    assert len({link.why for link in fresh}) == len(fresh), "each has a reason of its own"
    card = fresh[0].href.removeprefix("/cards/")
    known = Standings(read={("card", card): now()})
    at = where(DRILLS, known, view, None)
    assert at == Link(Kind.CARD, card)
    assert fresh[0].href not in [link.href for link in up_next(view, known, at)]


def test_resume_is_the_drill_tried_last_until_it_is_passed(view: View) -> None:
    card = next(iter(view.cards))
    read = {("card", card): now(), ("card", "gone"): now()}

    def place(known: Standings, last: str | None) -> str | None:
        shown = resume(DRILLS, view, where(DRILLS, known, view, last))
        return None if shown is None else shown.href

    assert place(Standings(read=read), DRILL) == f"/drills/{DRILL}"
    assert place(Standings(read=read, passed={DRILL: now()}), DRILL) == f"/cards/{card}"
    assert place(Standings(), None) is None


def test_the_first_drill_is_open_to_whoever_comes(view: View) -> None:
    first = first_drill(view, DRILLS)
    assert first is not None
    assert view.may_work_on(first.id)


def test_drills_are_listed_in_an_order_in_which_they_can_be_passed(view: View) -> None:
    path = along_path(DRILLS, view)
    places = {drill.id: place for place, drill in enumerate(path)}
    assert sorted(places) == sorted(DRILLS)
    for drill in path:
        assert all(places[need] < places[drill.id] for need in drill.needs), drill.id
    assert path[0].level == "Foundational"


def test_the_page_of_drills_begins_where_a_learner_can_begin(application: FastAPI, view: View) -> None:
    text = Browser(application).get("/drills").text
    shown = re.findall(r'class="item-title" href="/drills/(\w+)"', text)
    assert shown == [drill.id for drill in along_path(DRILLS, view)]


def test_progress_counts_what_was_read_and_passed(view: View) -> None:
    nothing = overview(view, DRILLS, Standings())
    assert nothing.items_read == nothing.drills_passed == sum(group.done for group in nothing.topics) == 0
    card = next(iter(view.cards))
    some = overview(view, DRILLS, Standings(read={("card", card): now()}, passed={DRILL: now()}))
    assert (some.items_read, some.drills_passed) == (1, 1)
    assert sum(group.done for group in some.topics) == 2
    for group in some.topics + some.tracks:
        assert group.total == len(group.items)
        assert 0 <= group.done <= group.total
    standings = {(item.kind, item.id): item.standing for group in some.topics for item in group.items}
    assert standings[("card", card)] is Standing.READ
    assert standings[("drill", DRILL)] is Standing.PASSED


def test_what_is_gone_or_a_draft_is_not_listed(view: View) -> None:
    known = Standings(read={("card", "gone"): now()}, passed={"gone_drill": now()})
    page = overview(view, DRILLS, known)
    assert (page.items_read, page.drills_passed) == (0, 0)


def test_a_lane_says_why_nobody_serves_it() -> None:
    def worker(lane: str, trouble: str | None = None) -> Heartbeat:
        return Heartbeat(id=lane, lane=lane, started_at=now(), seen_at=now(), slots=1, busy=0, trouble=trouble)

    assert "No worker is running" in lane_note(Lane.CPU, [])
    assert "No worker is running" in lane_note(Lane.CPU, [worker("gpu")])
    assert "no bubblewrap" in lane_note(Lane.CPU, [worker("cpu", "no bubblewrap")])
    assert lane_note(Lane.CPU, [worker("cpu", "no bubblewrap"), worker("cpu")]) == ""


def test_a_standing_without_facts_is_new() -> None:
    assert Standings().of(Link(Kind.CARD, "x")) == (Standing.NEW, None)
    assert Standings(tried=frozenset({"x"})).of(Link(Kind.DRILL, "x")) == (Standing.TRIED, None)


def test_from_reading_to_passing(
    application: FastAPI, browser: Browser, database: Database, queue: Jobs, view: View
) -> None:
    """The pages of a learner who reads a card, fails a drill and passes it."""
    assert browser.get("/").status_code == 200
    browser.sign_in_as("ada")
    home = browser.get("/").text
    assert escape(next(iter(view.tracks.values())).title) in home
    card = next(iter(view.cards))
    answer = browser.post("/progress/read", data={"kind": "card", "id": card, "next": f"/cards/{card}"})
    assert (answer.status_code, answer.headers["location"]) == (303, f"/cards/{card}")
    assert browser.post("/progress/read", data={"kind": "card", "id": card}).status_code == 303  # twice is once
    submission = hand_in(browser)
    assert f"/drills/{DRILL}" in browser.get("/").text
    work = start(database, live_run(database, submission))
    assert work is not None
    record(database, queue, work, verdict(Outcome.ACCEPTED, sentence="All cases passed."))
    for path in ("/", "/drills", "/progress", f"/cards/{card}", f"/drills/{DRILL}"):
        assert browser.get(path).status_code == 200
    assert re.search(r"[Pp]assed", browser.get("/drills").text)
    stranger = Browser(application)
    stranger.sign_in_as("eve")
    assert "All cases passed." not in stranger.get("/").text
    assert not re.search(r"is-passed", stranger.get("/progress").text)


@pytest.mark.parametrize(
    ("kind", "id"),
    [("card", "none"), ("drill", DRILL), ("", ""), ("card", "\0"), ("\0", "x")],
)
def test_only_cards_and_questions_that_exist_can_be_read(browser: Browser, kind: str, id: str) -> None:
    browser.sign_in_as("ada")
    assert browser.post("/progress/read", data={"kind": kind, "id": id}).status_code == 404


def test_reading_leads_nowhere_else(browser: Browser, view: View) -> None:
    browser.sign_in_as("ada")
    form = {"kind": "card", "id": next(iter(view.cards)), "next": "https://evil.example"}
    assert browser.post("/progress/read", data=form).headers["location"] == "/"
