"""Hints, editorials, predictions, evidence: what is locked is in no answer, what is shown follows from facts."""

from __future__ import annotations

import io
import json
import zipfile
from dataclasses import replace

import msgspec
import pytest
from fastapi import FastAPI
from markupsafe import Markup

from app.course.models import Section
from app.course.store import CourseStore
from app.db import Database
from app.jobs import Jobs
from app.settings import ROOT
from app.submissions.models import Prediction
from app.submissions.predictions import MODES, Predicted, modes_of, told
from grader.drill import load_drills
from grader.verdict import Console, Diagnosis, Outcome, Verdict
from tests.app.conftest import Browser
from tests.app.submissions.conftest import DRILL, live_run, record, start, verdict

HINTS = load_drills(ROOT / "drills")[DRILL].hints
FORM = {"source": "x = 1\n", "lane": "cpu", "token": "token-of-a-form"}


def graded(
    browser: Browser, database: Database, queue: Jobs, given: Verdict, what: str = "submissions", **form: str
) -> str:
    """Hand in or run, and record a verdict; returns the id."""
    answer = browser.post(f"/drills/{DRILL}/{what}", data={**FORM, **form})
    assert answer.status_code == 303, answer.text
    submission = answer.headers["location"].removeprefix("/submissions/")
    work = start(database, live_run(database, submission))
    assert work is not None
    assert record(database, queue, work, given)
    return submission


# --- hints ----------------------------------------------------------------------------------------


def words_of(hint: str) -> str:
    """Some words of a hint that Markdown leaves alone."""
    return hint.split(":")[0].split("(")[0].split("=")[0][:30].strip()


def test_hints_open_one_after_another_and_leave_no_trace_before(application: FastAPI, browser: Browser) -> None:
    def seen(who: Browser) -> list[bool]:
        page = who.get(f"/drills/{DRILL}").text
        return [words_of(hint) in page for hint in HINTS]

    address = f"/drills/{DRILL}/hints"
    assert seen(browser) == [False, False, False]
    assert browser.post(address, data={"hint": "1"}).headers["location"].startswith("/sign-in")
    browser.sign_in_as("ada")
    assert seen(browser) == [False, False, False]
    assert browser.post(address, data={"hint": "2"}).status_code == 404
    assert browser.post(address, data={"hint": "1"}).headers["location"] == f"/drills/{DRILL}#hints"
    assert browser.post(address, data={"hint": "1"}).status_code == 303  # twice is once
    assert seen(browser) == [True, False, False]
    for number in (2, 3):
        browser.post(address, data={"hint": str(number)})
    assert seen(browser) == [True, True, True]
    for none in ("0", "4", "99999"):
        assert browser.post(address, data={"hint": none}).status_code == 404
    other = Browser(application)
    other.sign_in_as("eve")
    assert seen(other) == [False, False, False]


def test_a_drill_that_is_locked_gives_no_hints(browser: Browser) -> None:
    browser.sign_in_as("ada")
    assert browser.post("/drills/attention_backward/hints", data={"hint": "1"}).status_code == 422
    assert "once the drill is open" in browser.get("/drills/attention_backward").text


def test_a_hint_takes_what_was_typed_along(browser: Browser) -> None:
    browser.sign_in_as("ada")
    browser.post(f"/drills/{DRILL}/hints", data={"hint": "1", "source": "typed = 1\r\n", "base": "0"})
    assert "typed = 1" in browser.get(f"/drills/{DRILL}").text


# --- editorials -----------------------------------------------------------------------------------


@pytest.fixture
def written(course: CourseStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """An editorial for the drill, whatever the folder holds."""
    section = Section("idea", "The idea", Markup("<p>GATED TEXT</p>"))
    snapshot = replace(course.current, editorials={**course.current.editorials, DRILL: (section,)})
    monkeypatch.setattr(CourseStore, "current", property(lambda _: snapshot))


@pytest.mark.usefixtures("written")
def test_an_editorial_opens_when_the_drill_is_passed(
    application: FastAPI, browser: Browser, database: Database, queue: Jobs
) -> None:
    address = f"/drills/{DRILL}/editorial"

    def closed(who: Browser) -> bool:
        pages = [who.get(path).text for path in (address, f"/drills/{DRILL}", f"/drills/{DRILL}/evidence")]
        return "Passing Tiled softmax opens this" in pages[0] and not any("GATED TEXT" in page for page in pages)

    assert closed(browser)
    browser.sign_in_as("ada")
    assert closed(browser)
    graded(browser, database, queue, verdict(Outcome.ACCEPTED), "runs")
    assert closed(browser), "a run passes nothing"
    graded(browser, database, queue, verdict(Outcome.WRONG_ANSWER))
    assert closed(browser)
    graded(browser, database, queue, verdict(Outcome.ACCEPTED), token="another-token")
    assert "GATED TEXT" in browser.get(address).text
    assert f'href="{address}"' in browser.get(f"/drills/{DRILL}").text
    other = Browser(application)
    other.sign_in_as("eve")
    assert closed(other)
    assert browser.get("/drills/none/editorial").status_code == 404


# --- predictions ----------------------------------------------------------------------------------

TREND = Diagnosis(trend="wrong at every length, and the error grows with the number of tiles")


@pytest.mark.parametrize(
    ("mode", "outcome", "diagnosis", "held"),
    [
        ("passes", Outcome.ACCEPTED, None, True),
        ("passes", Outcome.WRONG_ANSWER, None, False),
        ("grows", Outcome.WRONG_ANSWER, TREND, True),
        ("grows", Outcome.WRONG_ANSWER, None, False),
        ("edge", Outcome.WRONG_ANSWER, Diagnosis(trend="wrong when the last tile is partial"), True),
        ("edge", Outcome.ACCEPTED, Diagnosis(trend="wrong when the last tile is partial"), False),
        ("raises", Outcome.COMPILE_ERROR, None, True),
        ("limits", Outcome.OUT_OF_MEMORY, None, True),
        ("rule", Outcome.RULE_BROKEN, None, True),
        ("rule", Outcome.GRADER_PROBLEM, None, None),
        ("wrong", Outcome.WRONG_ANSWER, TREND, True),
        ("nan", Outcome.WRONG_ANSWER, TREND, False),
    ],
)
def test_a_prediction_is_held_against_the_verdict(
    mode: str, outcome: Outcome, diagnosis: Diagnosis | None, held: bool | None
) -> None:
    said = Prediction(mode=mode, words="since m changes")
    found = told(said, msgspec.structs.replace(verdict(outcome), diagnosis=diagnosis))
    assert found == Predicted(MODES[mode].words, "since m changes", held)


def test_a_prediction_is_made_once_before_the_first_run(
    application: FastAPI, browser: Browser, database: Database, queue: Jobs
) -> None:
    browser.sign_in_as("ada")
    assert "How will this fail?" in browser.get(f"/drills/{DRILL}").text
    said = {"mode": "passes", "words": "  because\x00 I\n<b>checked</b> "}
    first = graded(browser, database, queue, verdict(Outcome.WRONG_ANSWER), "runs", **said)
    page = browser.get(f"/submissions/{first}").text
    assert "You said before it ran" in page
    assert "because I &lt;b&gt;checked&lt;/b&gt;" in page
    assert "It went another way" in page
    assert "How will this fail?" not in browser.get(f"/drills/{DRILL}").text
    later = graded(browser, database, queue, verdict(Outcome.WRONG_ANSWER), mode="wrong", words="now I know")
    assert "You said before it ran" not in browser.get(f"/submissions/{later}").text
    assert "now I know" not in browser.get(f"/drills/{DRILL}/evidence").text
    other = Browser(application)
    other.sign_in_as("eve")
    unsaid = graded(other, database, queue, verdict(Outcome.WRONG_ANSWER), mode="no such mode", words="x")
    assert "You said before it ran" not in other.get(f"/submissions/{unsaid}").text


def test_what_can_be_predicted_fits_the_drill() -> None:
    drills = load_drills(ROOT / "drills")
    assert {name for name, _ in modes_of(drills[DRILL])} == set(MODES)
    assert "grows" not in dict(modes_of(drills["decode_intensity"]))


# --- evidence -------------------------------------------------------------------------------------


def test_evidence_is_gathered_and_exported(browser: Browser, database: Database, queue: Jobs) -> None:
    browser.sign_in_as("ada")
    address = f"/drills/{DRILL}/evidence"
    assert "Nothing has been graded" in browser.get(address).text
    wrong = graded(
        browser,
        database,
        queue,
        verdict(Outcome.WRONG_ANSWER, sentence="Wrong ```x```."),
        mode="passes",
        words="ok",
    )
    printed = msgspec.structs.replace(
        verdict(Outcome.ACCEPTED, sentence="All passed."), console=Console(text="````\nprinted")
    )
    graded(browser, database, queue, printed, token="another-token", source="y = 2\n")
    browser.post(address, data={"notes": "*Mine* <script>alert(1)</script>", "base": "0", "failed": wrong})
    page = browser.get(address).text
    for text in (
        "tilewright grade",
        "The file that passed",
        "All passed.",
        "It passes",
        "It went another way",
        "<em>Mine</em>",
    ):
        assert text in page
    assert "<script>alert" not in page
    assert "SECRET" not in page
    exported = browser.get(f"{address}.md")
    assert exported.headers["content-disposition"] == f'attachment; filename="{DRILL}-evidence.md"'
    assert "`````text\n````\nprinted\n`````" in exported.text
    assert "SECRET" not in exported.text
    archive = zipfile.ZipFile(io.BytesIO(browser.get(f"{address}.zip").content))
    names = [f"{DRILL}/{name}" for name in ("evidence.md", "passed.py", "passed.json", "failed.py", "failed.json")]
    assert archive.namelist() == names
    assert archive.read(names[1]) == b"y = 2\n"
    assert json.loads(archive.read(names[4]))["outcome"] == "wrong_answer"
    assert b"SECRET" not in b"".join(archive.read(name) for name in names)


def test_notes_are_not_overwritten_unseen(browser: Browser) -> None:
    browser.sign_in_as("ada")
    address = f"/drills/{DRILL}/evidence"
    assert browser.post(address, data={"notes": "first", "base": "0"}).status_code == 303
    late = browser.post(address, data={"notes": "second\0 \x1b", "base": "0", "failed": "\0"})
    assert late.status_code == 409
    assert "first" in late.text and "second" in late.text
    assert "second" not in browser.get(address).text
    assert browser.post(address, data={"notes": "both", "base": "1"}).status_code == 303
    assert browser.get(address).text.count("both") >= 2


# --- after a fault of ours ------------------------------------------------------------------------


def test_the_same_code_is_sent_again_once(
    application: FastAPI, browser: Browser, database: Database, queue: Jobs
) -> None:
    browser.sign_in_as("ada")
    submission = browser.post(f"/drills/{DRILL}/submissions", data=FORM).headers["location"].split("/")[-1]
    again = f"/submissions/{submission}/again"
    assert browser.post(again).status_code == 409, "it waits"
    for _ in range(3):  # the first try, and both retries
        work = start(database, live_run(database, submission))
        assert work is not None
        record(database, queue, work, verdict(Outcome.GRADER_PROBLEM, problem="the runner died"))
    assert "Send the same code again" in browser.get(f"/submissions/{submission}").text
    anew = [browser.post(again).headers["location"] for _ in range(3)]
    assert len(set(anew)) == 1
    assert anew[0] != f"/submissions/{submission}"
    assert browser.get(f"{anew[0]}/source.py").content == b"x = 1\n"
    other = Browser(application)
    other.sign_in_as("eve")
    assert other.post(again).status_code == 404


def test_files_to_download(browser: Browser, database: Database, queue: Jobs) -> None:
    browser.sign_in_as("ada")
    said = msgspec.structs.replace(verdict(), console=Console(text="<b>\x1b[31m"))
    submission = graded(browser, database, queue, said)
    printed = browser.get(f"/submissions/{submission}/output.txt")
    assert printed.content.startswith(b"<b>\x1b[31m")
    assert printed.headers["content-type"] == "text/plain; charset=utf-8"
    assert printed.headers["content-disposition"].startswith("attachment")
    silent = graded(browser, database, queue, verdict(), token="another-token")
    assert browser.get(f"/submissions/{silent}/output.txt").status_code == 404
