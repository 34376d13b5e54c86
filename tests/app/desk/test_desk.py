"""The desk: what waits, who holds it, how a grade is kept, and what its learner reads."""

from __future__ import annotations

import re
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from fastapi import FastAPI
from sqlalchemy import func, select, update

from app.accounts.audit import AuditEntry
from app.db import Database, now
from app.desk.models import DeskLease, RubricItem
from app.submissions.grades.models import Grade, WorkKind
from grader.verdict import Outcome
from tests.app.conftest import Browser
from tests.app.desk.conftest import RUBRIC, TRACK, HandInOutline, address, hand_in_capstone

LOOPS, BYTES = (item.id for item in RUBRIC)


def form(base: int = 0, changes: Mapping[str, str] | None = None, **more: str) -> dict[str, str]:
    """A complete scoring form of the outline: all of the first criterion, nothing of the second."""
    return {
        "base": str(base),
        f"item-{LOOPS}": "full",
        f"comment-{LOOPS}": "Well *argued*.",
        f"item-{BYTES}": "none",
        "comment": "Count again.",
        "then": "stay",
        **(changes or {}),
        **more,
    }


def take(browser: Browser, work: str, kind: WorkKind = WorkKind.OUTLINE) -> str:
    assert browser.post(f"{address(kind, work)}/take").status_code == 303
    return address(kind, work)


def versions(database: Database, work: str) -> list[tuple[int, int, str]]:
    with database.read() as session:
        rows = session.scalars(select(Grade).where(Grade.work == work).order_by(Grade.version))
        return [(row.version, row.points, row.grader) for row in rows]


def test_an_outline_waits_once_its_automatic_part_is_accepted(
    root: Browser, ada: Browser, outline: HandInOutline
) -> None:
    refused = outline(ada, "token-refused", Outcome.WRONG_ANSWER)
    assert "Nothing waits" in root.get("/desk").text
    assert root.get(f"/desk/outline/{refused}").status_code == 404
    first = outline(ada, "token-first")
    second = outline(ada, "token-second")  # the newest one counts
    queue = root.get("/desk").text
    assert f"/desk/outline/{second}" in queue and first not in queue and refused not in queue
    page = root.get(f"/desk/outline/{second}").text
    assert "token-second" in page and "Names the loop order" in page and "Take it" in page


def test_a_grade_reaches_the_submission_and_progress(
    root: Browser, ada: Browser, outline: HandInOutline, database: Database
) -> None:
    work = outline(ada)
    assert "waits at the desk" in ada.get(f"/submissions/{work}").text
    at = take(root, work)
    assert root.post(at, data=form()).status_code == 303
    assert versions(database, work) == [(1, 2, "root")]
    page = ada.get(f"/submissions/{work}").text
    for text in ("Well <em>argued</em>.", "Count again.", "Says which loop is outside", "Not there."):
        assert text in page
    assert re.search(r"<strong>2</strong> of 5", page)
    assert "2 of 5" in ada.get("/progress").text
    assert "Nothing waits" in root.get("/desk").text


def test_every_grade_leaves_a_row_in_the_trail(
    root: Browser, ada: Browser, outline: HandInOutline, database: Database
) -> None:
    work = outline(ada)
    root.post(take(root, work), data=form())
    with database.read() as session:
        entry = session.scalars(select(AuditEntry).where(AuditEntry.action == "grade")).one()
    assert (entry.actor, entry.action, entry.target) == ("root", "grade", f"/desk/outline/{work}")
    assert '"points": "2 of 5"' in entry.details
    trail = root.get("/desk/audit").text
    assert f'href="/desk/outline/{work}"' in trail and "2 of 5" in trail


def test_a_form_with_a_gap_keeps_what_was_typed(
    root: Browser, ada: Browser, outline: HandInOutline, database: Database
) -> None:
    work = outline(ada)
    at = take(root, work)
    for gap in ({f"item-{BYTES}": ""}, {f"item-{BYTES}": "made-up"}, {f"item-{BYTES}": "new"}):
        answer = root.post(at, data=form(changes=gap))
        assert answer.status_code == 422
        assert "Count again." in answer.text and 'class="error"' in answer.text
    too_much = {f"item-{BYTES}": "new", f"points-{BYTES}": "4", f"text-{BYTES}": "x"}
    assert "earns 0 to 3 points" in root.post(at, data=form(changes=too_much)).text
    assert versions(database, work) == []
    assert root.post(at, data={"base": "-1"}).status_code == 400


def test_a_new_item_can_be_used_again(
    root: Browser, ada: Browser, outline: HandInOutline, database: Database
) -> None:
    work = outline(ada)
    new = {f"item-{BYTES}": "new", f"points-{BYTES}": "1", f"text-{BYTES}": "Reads only."}
    root.post(take(root, work), data=form(changes=new))
    with database.read() as session:
        item = session.scalars(select(RubricItem)).one()
    again = outline(ada, "token-again")
    at = take(root, again)
    assert "Reads only." in root.get(at).text
    root.post(at, data=form(changes={f"item-{BYTES}": item.id}))
    assert versions(database, again) == [(1, 3, "root")]
    new_again = outline(ada, "token-third")
    root.post(take(root, new_again), data=form(changes=new))
    with database.read() as session:  # the same words and points are the same item
        assert session.scalar(select(func.count()).select_from(RubricItem)) == 1


def test_only_one_holds_a_piece_of_work_and_a_hold_ends(
    root: Browser, grace: Browser, ada: Browser, outline: HandInOutline, database: Database
) -> None:
    work = outline(ada)
    at = take(root, work)
    refused = grace.post(f"{at}/take")
    assert refused.status_code == 409 and "root is at work on this one" in refused.text
    answer = grace.post(at, data=form(comment="Mine."))
    assert answer.status_code == 409 and "Mine." in answer.text and versions(database, work) == []
    with database.write() as session:
        session.execute(update(DeskLease).values(until=now() - timedelta(seconds=1)))
    take(grace, work)
    assert root.post(at, data=form()).status_code == 409
    assert root.post(f"{at}/release").status_code == 303  # what grace holds stays hers
    assert grace.post(at, data=form()).status_code == 303
    assert versions(database, work) == [(1, 2, "grace")]


def test_a_stale_save_shows_both_and_loses_none(
    root: Browser, grace: Browser, ada: Browser, outline: HandInOutline, database: Database
) -> None:
    work = outline(ada)
    at = take(root, work)
    root.post(at, data=form(comment="The first word."))
    take(grace, work)
    stale = grace.post(at, data=form(comment="Written on the old page."))  # base 0, and 1 is there
    assert stale.status_code == 409
    assert "The first word." in stale.text and "Written on the old page." in stale.text
    assert 'name="base" value="1"' in stale.text
    assert versions(database, work) == [(1, 2, "root")]
    without = grace.post(at, data=form(1))
    assert without.status_code == 422 and "Say why" in without.text
    grace.post(at, data=form(1, {f"item-{BYTES}": "full"}, reason="The bytes are on line 2."))
    assert versions(database, work) == [(1, 2, "root"), (2, 5, "grace")]
    assert "The bytes are on line 2." in ada.get(f"/submissions/{work}").text


def test_two_saves_at_once_are_one_grade(
    application: FastAPI, root: Browser, ada: Browser, outline: HandInOutline, database: Database
) -> None:
    work = outline(ada)
    at = take(root, work)

    def click(_: int) -> int:
        clone = Browser(application)
        clone.cookies = root.cookies
        return clone.post(at, data=form()).status_code

    with ThreadPoolExecutor(6) as threads:
        answers = sorted(threads.map(click, range(6)))
    assert answers == [303, *[409] * 5]
    assert len(versions(database, work)) == 1


def test_nobody_scores_their_own_work(root: Browser, outline: HandInOutline, database: Database) -> None:
    mine = outline(root)
    assert f"/desk/outline/{mine}" not in root.get("/desk").text
    assert root.post(f"/desk/outline/{mine}/take").status_code == 409
    assert root.post(f"/desk/outline/{mine}", data=form()).status_code == 409
    assert versions(database, mine) == []


def test_saving_leads_to_the_next(root: Browser, ada: Browser, outline: HandInOutline) -> None:
    work = outline(ada)
    capstone = hand_in_capstone(ada)
    answer = root.post(take(root, work), data=form(then="next"))
    assert answer.headers["location"] == f"/desk/capstone/{capstone}#scoring"
    assert "Give it back unscored" in root.get(f"/desk/capstone/{capstone}").text  # it is held already


def test_a_resubmission_waits_again_and_keeps_the_old_feedback(
    root: Browser, ada: Browser, outline: HandInOutline
) -> None:
    old = outline(ada)
    root.post(take(root, old), data=form(comment="Show the writes."))
    new = outline(ada, "token-new")
    queue = root.get("/desk").text
    assert f"/desk/outline/{new}" in queue and "again" in queue
    assert "Show the writes." in root.get(f"/desk/outline/{new}").text
    page = ada.get(f"/submissions/{new}").text
    assert "waits at the desk" in page and "Show the writes." in page and "Earlier feedback" in page
    assert "Show the writes." in ada.get(f"/submissions/{old}").text


def test_a_change_of_an_item_shows_who_changes_and_scores_again(
    root: Browser, ada: Browser, outline: HandInOutline, database: Database
) -> None:
    work = outline(ada)
    new = {f"item-{BYTES}": "new", f"points-{BYTES}": "1", f"text-{BYTES}": "Reads only."}
    root.post(take(root, work), data=form(changes=new))
    with database.read() as session:
        item = session.scalars(select(RubricItem)).one()
    at = f"/desk/rubrics/outline/{item.subject}"
    page = root.get(at).text
    assert "1 grade uses it" in page
    change = {"points": "2", "text": "Reads without writes."}
    shown = root.post(f"{at}/items/{item.id}", data={**change, "step": "show"}).text
    assert "1 grade would change" in shown and "3 to 4 of 5" in shown
    assert versions(database, work) == [(1, 3, "root")]
    assert root.post(f"{at}/items/{item.id}", data={**change, "step": "do"}).status_code == 303
    assert versions(database, work) == [(1, 3, "root"), (2, 4, "root")]
    assert "changed from 1 to 2 points" in ada.get(f"/submissions/{work}").text
    assert root.post(f"{at}/items/{item.id}", data={**change, "step": "do"}).status_code == 404  # it is retired
    bad = root.post(f"{at}/items/{item.id}", data={"points": "9", "text": "x"})
    assert bad.status_code == 404


def test_retiring_an_item_changes_no_grade(
    root: Browser, ada: Browser, outline: HandInOutline, database: Database
) -> None:
    work = outline(ada)
    new = {f"item-{BYTES}": "new", f"points-{BYTES}": "1", f"text-{BYTES}": "Reads only."}
    root.post(take(root, work), data=form(changes=new))
    with database.read() as session:
        item = session.scalars(select(RubricItem)).one()
    at = f"/desk/rubrics/outline/{item.subject}"
    assert root.post(f"{at}/items/{item.id}", data={"points": "9", "text": ""}).status_code == 422
    root.post(f"{at}/items/{item.id}", data={"step": "retire"})
    assert "Reads only." not in root.get(at).text
    assert versions(database, work) == [(1, 3, "root")]
    assert "Reads only." in ada.get(f"/submissions/{work}").text


def test_a_capstone_is_scored_by_its_tracks_rubric(root: Browser, ada: Browser, database: Database) -> None:
    work = hand_in_capstone(ada)
    at = take(root, work, WorkKind.CAPSTONE)
    page = root.get(at).text
    assert "<strong>built</strong>" in page
    names = re.findall(r'name="(item-[^"]+)" value="full"', page)
    assert len(names) >= 3
    answer = root.post(at, data={"base": "0", **dict.fromkeys(names, "full"), "then": "stay"})
    assert answer.status_code == 303
    possible = re.search(r"of (\d+) points", page)
    assert possible is not None
    assert versions(database, work) == [(1, int(possible[1]), "root")]
    assert f"{possible[1]} of {possible[1]}" in ada.get(f"/tracks/{TRACK}/capstone").text


@pytest.mark.parametrize(
    "path",
    ["/desk", "/desk/audit", "/desk/rubrics/outline/tiled_softmax", "/desk/capstone/0000000000000000"],
)
def test_the_desk_does_not_exist_for_others(ada: Browser, application: FastAPI, path: str) -> None:
    nobody = Browser(application)
    for browser in (ada, nobody):
        assert browser.get(path).status_code == 404
    assert "Desk" not in ada.get("/drills").text
