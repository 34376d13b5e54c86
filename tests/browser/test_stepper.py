"""The tile stepper in a real browser: one tile at a time by slider, keys and links; all of them without scripts."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser

from tests.browser.watch import DESKTOP, new_context

pytestmark = [pytest.mark.browser, pytest.mark.timeout(120)]


def test_the_slider_walks_through_the_tiles(browser: Browser, gallery_site: str) -> None:
    context = new_context(browser, DESKTOP, "light")
    page = context.new_page()
    page.goto(f"{gallery_site}/gallery/submission/wrong")
    slider, shown = page.get_by_role("slider", name="Tile"), page.locator(".turn:visible")
    assert shown.count() == 1
    assert "parts here" in shown.inner_text()  # it opens where they part
    slider.focus()
    page.keyboard.press("ArrowRight")
    assert shown.get_attribute("id") == "tile-3"
    assert slider.get_attribute("aria-valuetext") == "tile 3 of 3, keys 48"
    page.get_by_role("button", name="Previous tile").click()
    assert shown.get_attribute("id") == "tile-2"
    page.goto(f"{gallery_site}/gallery/submission/wrong#tile-1")
    page.reload()
    assert shown.get_attribute("id") == "tile-1"
    context.close()


def test_without_scripts_every_tile_is_there(browser: Browser, gallery_site: str) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{gallery_site}/gallery/submission/wrong")
    assert page.locator(".turn:visible").count() == 3
    assert page.get_by_role("slider").count() == 0
    context.close()
