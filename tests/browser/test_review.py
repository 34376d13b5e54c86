"""Reading, reviewing, keeping and setting in a real browser against real processes: by keyboard, in both themes."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import SCREENSHOTS
from tests.browser.test_story import sign_up
from tests.browser.watch import DESKTOP, PHONE, Watched, axe, new_context, settle, shoot

pytestmark = [pytest.mark.browser, pytest.mark.sandbox, pytest.mark.timeout(300)]


def read_a_card(page: Page, site: str) -> None:
    page.goto(f"{site}/cards/online-softmax")
    page.get_by_role("button", name="Mark as read").click()
    expect(page.locator(".mark-read")).to_contain_text("read")


def press(page: Page, key: str) -> None:
    """Press a key once the page's scripts have run: they listen for it."""
    page.wait_for_load_state()
    page.keyboard.press(key)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_review_by_keyboard_alone(browser: Browser, site: str, theme: str) -> None:
    context = new_context(browser, DESKTOP, theme)
    watched = Watched(context.new_page())
    page = watched.page
    sign_up(page, site)
    read_a_card(page, site)
    page.goto(f"{site}/review")
    head = page.locator(".review-head")
    expect(head).to_contain_text("0 done today")
    first = page.locator("#ask").inner_text()
    press(page, "Space")
    expect(page).to_have_url(re.compile("answer=card"))
    expect(page.get_by_role("button", name="Good")).to_be_visible()
    assert axe(page) == []
    settle(page)
    shoot(page, SCREENSHOTS, f"review-answer-{theme}")
    press(page, "3")
    expect(head).to_contain_text("1 done today")
    assert page.locator("#ask").inner_text() != first
    press(page, "u")
    expect(head).to_contain_text("0 done today")
    assert page.locator("#ask").inner_text() == first
    press(page, "s")
    expect(page.locator(".just")).to_contain_text("Put off until tomorrow")
    press(page, "Enter")  # the link that has the focus
    expect(page.get_by_role("button", name="Again")).to_be_visible()
    press(page, "1")
    expect(page.locator(".just")).to_contain_text("It comes back in 10 min")
    page.goto(f"{site}/review/items")
    assert axe(page) == []
    watched.assert_clean()
    context.close()


def test_single_keys_can_be_turned_off(browser: Browser, site: str) -> None:
    context = new_context(browser, DESKTOP, "light")
    watched = Watched(context.new_page())
    page = watched.page
    sign_up(page, site)
    read_a_card(page, site)
    page.goto(f"{site}/settings")
    assert axe(page) == []
    page.get_by_label("Single-key shortcuts").uncheck()
    page.get_by_label("Time zone").select_option("Europe/Berlin")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator(".said")).to_contain_text("Saved.")
    page.goto(f"{site}/review?answer=card:online-softmax:{_prompt(page, site)}")
    press(page, "3")
    page.wait_for_timeout(300)
    expect(page.locator(".review-head")).to_contain_text("0 done today")
    watched.assert_clean()
    context.close()


def _prompt(page: Page, site: str) -> str:
    page.goto(f"{site}/review/items")
    key = page.locator("input[name=key]").first.get_attribute("value") or ""
    return key.split(":")[2]


def test_without_script_on_a_phone(browser: Browser, site: str) -> None:
    context = new_context(browser, PHONE, "dark", script=False)
    page = context.new_page()
    sign_up(page, site)
    read_a_card(page, site)
    page.goto(f"{site}/cards/online-softmax")
    page.get_by_role("button", name="Bookmark").click()
    expect(page.get_by_role("button", name="Bookmarked")).to_be_visible()
    page.get_by_role("link", name="Add a note").click()
    page.get_by_label("Your note").fill("The factor is **at most 1**.")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("link", name="Your note")).to_be_visible()
    page.goto(f"{site}/review")
    page.get_by_role("link", name="Show the answer").click()
    page.get_by_role("button", name="Easy").click()
    expect(page.locator(".review-head")).to_contain_text("1 done today")
    page.get_by_role("button", name="Undo").click()
    expect(page.locator(".review-head")).to_contain_text("0 done today")
    context.close()
