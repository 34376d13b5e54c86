"""The workspace in a real browser: drafts that survive, two tabs, no connection, and runs that count nothing."""

from __future__ import annotations

import time

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.browser.test_story import PATIENCE, RIGHT, WRONG, paste, sign_up
from tests.browser.watch import DESKTOP, Watched, axe, new_context

pytestmark = [pytest.mark.browser, pytest.mark.sandbox, pytest.mark.timeout(300)]
DRILL = "/drills/tiled_softmax"


def type_anew(page: Page, text: str) -> None:
    page.locator(".cm-content").click()
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.type(text)


def elsewhere(browser: Browser, context: BrowserContext) -> BrowserContext:
    """The same person on another device: the same cookies, and nothing that the browser kept."""
    other = new_context(browser, DESKTOP, "light")
    other.add_cookies(context.cookies())  # type: ignore[arg-type]
    return other


def test_what_was_typed_five_seconds_ago_survives_the_tab(browser: Browser, site: str) -> None:
    """Typing goes on without a pause; the tab dies; another device has all but the last seconds."""
    context = new_context(browser, DESKTOP, "light")
    page = context.new_page()
    sign_up(page, site)
    page.goto(f"{site}{DRILL}")
    type_anew(page, "# start")
    typed: list[tuple[float, str]] = []
    begun = time.monotonic()
    while time.monotonic() - begun < 9:
        word = f" w{len(typed)}"
        page.keyboard.type(word)
        typed.append((time.monotonic(), word))
        page.wait_for_timeout(150)
    killed = time.monotonic()
    page.close(run_before_unload=False)
    other = elsewhere(browser, context)
    again = other.new_page()
    again.goto(f"{site}{DRILL}")
    kept = again.locator("#code").input_value()
    for moment, word in typed:
        assert word in kept or killed - moment < 5, f"{word} was typed {killed - moment:.1f} s before the end"
    other.close()
    context.close()


def test_the_state_of_the_draft_is_seen_and_announced(browser: Browser, site: str) -> None:
    context = new_context(browser, DESKTOP, "light")
    watched = Watched(context.new_page())
    page = watched.page
    sign_up(page, site)
    page.goto(f"{site}{DRILL}")
    type_anew(page, "x = 1")
    expect(page.locator("[data-draft-state]")).to_contain_text("saved", timeout=15_000)
    expect(page.locator("[data-announce]")).to_contain_text("saved")
    page.reload()
    expect(page.locator("#code")).to_have_value("x = 1")
    expect(page.locator("[data-restore]")).to_be_hidden()
    page.get_by_role("link", name="Versions").click()
    expect(page.get_by_role("row").nth(1)).to_contain_text("the draft")
    assert axe(page) == []
    page.get_by_role("link", name="What I changed").click()
    expect(page.locator(".diff")).to_be_visible()
    assert axe(page) == []
    watched.assert_clean()
    context.close()


def test_two_tabs_cannot_overwrite_each_other(browser: Browser, site: str) -> None:
    context = new_context(browser, DESKTOP, "light")
    first, second = context.new_page(), context.new_page()
    sign_up(first, site)
    for page in (first, second):
        page.goto(f"{site}{DRILL}")
    type_anew(first, "first = 1")
    expect(first.locator("[data-draft-state]")).to_contain_text("saved", timeout=15_000)
    type_anew(second, "second = 2")
    bar = second.locator("[data-conflict]")
    expect(bar).to_be_visible(timeout=15_000)
    expect(second.locator("#code")).to_have_value("second = 2")
    compare = second.context.new_page()
    compare.goto(f"{site}{bar.get_by_role('link', name='Compare').get_attribute('href')}")
    expect(compare.locator(".diff")).to_contain_text("first = 1")
    expect(compare.locator(".diff")).to_contain_text("second = 2")
    assert axe(compare) == []
    bar.get_by_role("button", name="Use mine").click()
    expect(second.locator("[data-draft-state]")).to_contain_text("saved", timeout=15_000)
    first.reload()
    expect(first.locator("#code")).to_have_value("second = 2")
    first.goto(f"{site}{DRILL}/drafts")
    expect(first.get_by_role("row")).to_have_count(3)  # the head, and both texts
    context.close()


def test_offline_and_back(browser: Browser, site: str) -> None:
    context = new_context(browser, DESKTOP, "light")
    page = context.new_page()
    sign_up(page, site)
    page.goto(f"{site}{DRILL}")
    expect(page.locator(".cm-content")).to_be_visible()
    context.set_offline(True)
    type_anew(page, "y = 2")
    state = page.locator("[data-draft-state]")
    expect(state).to_contain_text("offline", timeout=15_000)
    page.keyboard.press("ControlOrMeta+Enter")
    expect(state).to_contain_text("offline")
    expect(page).to_have_url(f"{site}{DRILL}")
    context.set_offline(False)
    expect(state).to_contain_text("saved", timeout=15_000)
    context.set_offline(True)  # and when the tab ends before it is back, the browser's copy is offered
    type_anew(page, "y = 3")
    expect(state).to_contain_text("offline", timeout=15_000)
    page.close(run_before_unload=False)
    context.set_offline(False)
    again = context.new_page()
    again.goto(f"{site}{DRILL}")
    bar = again.locator("[data-restore]")
    expect(bar).to_be_visible()
    expect(again.locator("#code")).to_have_value("y = 3")
    assert axe(again) == []
    bar.get_by_role("button", name="Discard it").click()
    expect(again.locator("#code")).to_have_value("y = 2")
    context.close()


def test_a_run_counts_nothing_and_a_double_click_is_one_submission(browser: Browser, site: str) -> None:
    context = new_context(browser, DESKTOP, "light")
    watched = Watched(context.new_page())
    page = watched.page
    sign_up(page, site)
    page.goto(f"{site}{DRILL}")
    paste(page, RIGHT)
    page.keyboard.press("ControlOrMeta+Enter")
    verdict = page.locator("#results .verdict")
    expect(verdict).to_be_visible(timeout=PATIENCE)
    expect(verdict).to_contain_text("Visible cases passed")
    expect(verdict).to_contain_text("counts as no attempt")
    assert "Hidden cases:" not in verdict.inner_text()
    expect(page.locator(".tries li")).to_have_count(0)
    paste(page, WRONG)
    page.get_by_role("button", name="Submit").dblclick()
    expect(page.locator("#results .verdict[data-outcome=wrong_answer]")).to_be_visible(timeout=PATIENCE)
    expect(page.locator(".tries li")).to_have_count(1)
    watched.assert_clean()
    context.close()


def test_a_visitor_runs_a_drill_and_the_draft_follows_into_the_account(browser: Browser, site: str) -> None:
    context = new_context(browser, DESKTOP, "light")
    page = context.new_page()
    page.goto(f"{site}{DRILL}")
    paste(page, WRONG)
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.locator("#results .verdict[data-outcome=wrong_answer]")).to_be_visible(timeout=PATIENCE)
    expect(page.locator("[data-draft-state]")).to_contain_text("kept in this browser")
    sign_up(page, site)
    page.goto(f"{site}{DRILL}")
    expect(page.locator("#code")).to_have_value(WRONG.read_text())
    expect(page.locator("[data-draft-state]")).to_contain_text("saved", timeout=15_000)
    other = elsewhere(browser, context)
    again = other.new_page()
    again.goto(f"{site}{DRILL}")
    expect(again.locator("#code")).to_have_value(WRONG.read_text())
    other.close()
    context.close()


def test_the_keys_of_the_page_are_shown_and_can_be_turned_off(browser: Browser, site: str) -> None:
    context = new_context(browser, DESKTOP, "light")
    watched = Watched(context.new_page())
    page = watched.page
    page.goto(f"{site}{DRILL}")
    type_anew(page, "x = 4 / 2 # ?")  # in the editor they are only characters
    assert page.locator("#code").input_value() == "x = 4 / 2 # ?"
    page.keyboard.press("Escape")
    expect(page.locator("[data-announce]")).to_contain_text("left the editor")
    page.keyboard.press("?")
    sheet = page.get_by_role("dialog", name="Keys")
    expect(sheet).to_contain_text("Run the visible cases")
    assert axe(page) == []
    sheet.get_by_role("checkbox").uncheck()
    page.keyboard.press("Escape")
    expect(sheet).to_have_count(0)
    page.keyboard.press("?")
    page.keyboard.press("/")
    expect(sheet).to_have_count(0)
    expect(page.locator("[data-find] input")).not_to_be_focused()
    page.reload()
    page.keyboard.press("?")
    expect(sheet).to_have_count(0)
    page.get_by_role("button", name="Keys").click()
    expect(sheet).to_be_visible()
    watched.assert_clean()
    context.close()


def test_the_editor_says_where_the_text_stops_being_python_and_resets(browser: Browser, site: str) -> None:
    context = new_context(browser, DESKTOP, "light")
    page = context.new_page()
    page.goto(f"{site}{DRILL}")
    given = page.locator("#code").input_value()
    type_anew(page, "x = 1\ny = = 2\n")
    note = page.locator("[data-syntax]")
    expect(note).to_have_text("Line 2 does not read as Python yet.")
    page.get_by_role("button", name="Back to the starter").click()
    expect(page.locator("#code")).to_have_value(given)
    expect(note).to_be_hidden()
    page.get_by_role("button", name="Undo the reset").click()
    expect(note).to_be_visible()
    context.close()


def test_vim_keys(browser: Browser, gallery_site: str) -> None:
    context = new_context(browser, DESKTOP, "light")
    watched = Watched(context.new_page())
    page = watched.page
    page.goto(f"{gallery_site}/gallery/workspace/vim")
    page.locator(".cm-content").click()
    expect(page.locator(".cm-vim-panel")).to_be_visible()
    for key in ("g", "g", "d", "G", "i"):
        page.keyboard.press(key)
    page.keyboard.type("y = 1")
    assert page.locator("#code").input_value() == "y = 1"
    page.keyboard.press("Escape")  # back to normal mode: still inside
    assert page.evaluate("document.activeElement.className") == "code-host"
    page.keyboard.press("Escape")  # from there it leaves
    assert page.evaluate("document.activeElement.textContent") == "Run"
    watched.assert_clean()
    context.close()


def test_hints_open_beside_what_is_typed_and_a_guess_stands_beside_what_happened(
    browser: Browser, site: str
) -> None:
    context = new_context(browser, DESKTOP, "dark")
    watched = Watched(context.new_page())
    page = watched.page
    sign_up(page, site)
    page.goto(f"{site}{DRILL}")
    paste(page, WRONG)
    page.get_by_role("button", name="Open hint 1 of").click()
    expect(page.locator("#hints li")).to_have_count(1)
    expect(page.locator("#code")).to_have_value(WRONG.read_text())
    page.get_by_label("How will this fail?").select_option("grows")
    page.get_by_label("And why, in one line").fill("nothing rescales the sum")
    page.get_by_role("button", name="Run", exact=True).click()
    said = page.locator("#results #prediction")
    expect(said).to_contain_text("worse with every tile", timeout=PATIENCE)
    expect(said).to_contain_text("nothing rescales the sum")
    expect(page.locator(".predict")).to_have_count(0)
    assert axe(page) == []
    page.get_by_role("link", name="Evidence and notes").click()
    expect(page.locator("main")).to_contain_text("1 of 3 hints opened")
    assert axe(page) == []
    watched.assert_clean()
    context.close()
