"""Every template in every state in a real browser: nothing logged or blocked, nothing that scrolls sideways
on a desk or a phone, nothing serious for axe in either theme. Pictures stay in var/screenshots when asked for."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser

from tests.app.samples import SAMPLES
from tests.browser.conftest import SCREENSHOTS
from tests.browser.watch import DESKTOP, SIZES, Watched, look, new_context, settle

pytestmark = [pytest.mark.browser, pytest.mark.timeout(180)]
STREAMS = ("submission/loading", "submission/queued", "submission/retrying")
SHEETS = ("card/long",)


@pytest.mark.parametrize("name", SAMPLES)
def test_page_is_sound(browser: Browser, gallery_site: str, name: str) -> None:
    quiet = ("404 (Not Found)",) if name in (*STREAMS, *SHEETS) else ()
    context = new_context(browser, DESKTOP, "light")
    watched = Watched(context.new_page(), quiet)
    watched.page.goto(f"{gallery_site}/gallery/{name}")
    look(watched, SCREENSHOTS / "gallery", name.replace("/", "-"))
    context.close()


@pytest.mark.parametrize(
    "name", ["welcome/usual", "card/usual", "workspace/usual", "submission/wrong", "home/usual"]
)
def test_nothing_moves_while_a_page_loads(browser: Browser, gallery_site: str, name: str) -> None:
    for size in SIZES.values():
        context = new_context(browser, size, "light")
        watched = Watched(context.new_page())
        watched.page.goto(f"{gallery_site}/gallery/{name}")
        settle(watched.page)
        assert watched.shift() <= 0.02
        context.close()


def test_the_theme_button_changes_the_page_and_stays(browser: Browser, gallery_site: str) -> None:
    context = new_context(browser, DESKTOP, "light")
    page = context.new_page()
    page.goto(f"{gallery_site}/gallery/drills/usual")
    paper = "getComputedStyle(document.documentElement).backgroundColor"
    light = page.evaluate(paper)
    page.get_by_role("button", name="dark").click()
    assert page.evaluate(paper) != light
    page.reload()
    assert page.locator("html").get_attribute("data-theme") == "dark"
    assert page.evaluate(paper) != light
    context.close()


def test_the_theme_button_works_without_script(browser: Browser, gallery_site: str) -> None:
    context = new_context(browser, DESKTOP, "light", script=False)
    page = context.new_page()
    page.goto(f"{gallery_site}/gallery/drills/usual")
    page.get_by_role("button", name="dark").click()
    assert page.url.endswith("/gallery/drills/usual")
    assert page.locator("html").get_attribute("data-theme") == "dark"
    context.close()


def test_the_first_tab_stop_skips_to_the_content(browser: Browser, gallery_site: str) -> None:
    context = new_context(browser, DESKTOP, "light")
    page = context.new_page()
    page.goto(f"{gallery_site}/gallery/card/usual")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    assert page.evaluate("document.activeElement.getBoundingClientRect().top") >= 0
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    context.close()


def test_a_failing_tile_leads_to_its_open_case(browser: Browser, gallery_site: str) -> None:
    context = new_context(browser, DESKTOP, "light")
    page = context.new_page()
    page.goto(f"{gallery_site}/gallery/submission/wrong#case-a-maximum-that-rises")
    assert page.locator("#case-a-maximum-that-rises").is_visible()
    assert not page.locator("#case-half-precision").is_visible()
    page.locator("a.tile[href='#case-half-precision']").click()
    assert page.locator("#case-half-precision").is_visible()
    context.close()
