"""The desk by keyboard alone, in a real browser against real processes: take it, score it, go on to the next."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import ROOT
from tests.browser.test_story import PASSWORD, sign_up
from tests.browser.watch import DESKTOP, Watched, axe, new_context

pytestmark = [pytest.mark.browser, pytest.mark.sandbox, pytest.mark.timeout(300)]
CAPSTONE = "/tracks/flashattention/capstone"


def hand_in(browser: Browser, site: str) -> str:
    """A new learner hands in a capstone; the address of it on the desk."""
    context = new_context(browser, DESKTOP, "light")
    page = context.new_page()
    sign_up(page, site)
    page.goto(f"{site}{CAPSTONE}")
    page.get_by_label("What you built").fill("A kernel that reads each key once.")
    page.get_by_role("button", name="Hand in").click()
    expect(page).to_have_url(re.compile("/capstones/"))
    address = page.url.split("/capstones/")[1]
    context.close()
    return f"/desk/capstone/{address}"


def administrator(page: Page, site: str, data: Path) -> None:
    """Sign up, be made an administrator as an operator does it, and sign in again."""
    name = sign_up(page, site)
    command = [str(Path(sys.executable).parent / "tilewright"), "user", "role", name, "admin"]
    subprocess.run(
        command, cwd=ROOT, env=os.environ | {"TILEWRIGHT_DATA": str(data)}, check=True, capture_output=True
    )
    page.goto(f"{site}/sign-in?next=/desk")
    page.get_by_label("Name").fill(name)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("main").get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Desk")


def test_two_pieces_are_scored_by_keyboard(browser: Browser, site: str, site_data: Path) -> None:
    addresses = sorted([hand_in(browser, site), hand_in(browser, site)])  # the queue's order
    context = new_context(browser, DESKTOP, "light")
    watched = Watched(context.new_page())
    page = watched.page
    administrator(page, site, site_data)
    page.goto(f"{site}{addresses[0]}")

    page.evaluate("document.body.dataset.shortcuts = 'off'")  # as an account's settings have it
    page.keyboard.press("n")
    page.wait_for_timeout(300)
    assert page.url.endswith(addresses[0])
    page.evaluate("document.body.dataset.shortcuts = 'on'")
    page.keyboard.press("n")  # the next one in the queue, untouched
    expect(page).to_have_url(re.compile(re.escape(addresses[1])))
    page.goto(f"{site}{addresses[0]}")
    page.keyboard.press("t")
    criteria = page.locator("[data-criterion]:not([disabled])")
    expect(criteria.first).to_have_class(re.compile("is-active"))
    count = criteria.count()
    assert count > 1
    assert axe(page) == []

    page.keyboard.press("1")  # all of its points, and on to the second
    expect(criteria.nth(0).locator("[data-key='1']")).to_be_checked()
    expect(criteria.nth(1)).to_have_class(re.compile("is-active"))
    full = int(criteria.nth(0).locator(".choice-points").first.inner_text())
    expect(page.locator("[data-total]")).to_have_text(str(full))
    page.keyboard.press("k")
    page.keyboard.press("2")  # changed: nothing of it is there
    expect(criteria.nth(0).locator("[data-key='2']")).to_be_checked()
    expect(page.locator("[data-total]")).to_have_text("0")
    for _ in range(1, count):
        page.keyboard.press("1")
    page.keyboard.press("o")
    page.keyboard.type("1 and n are letters here, not keys.")
    expect(page.locator("[data-overall]")).to_have_value("1 and n are letters here, not keys.")
    expect(page).to_have_url(re.compile(re.escape(addresses[0])))

    page.keyboard.press("ControlOrMeta+Enter")  # saved, and the next one is taken
    expect(page).not_to_have_url(re.compile(re.escape(addresses[0])))
    expect(page.locator("[data-take]")).to_have_count(0)
    page.goto(f"{site}{addresses[0]}")
    expect(page.locator("#given")).to_contain_text("1 and n are letters here")
    watched.assert_clean()
    context.close()
