"""The course in a real browser: worked numbers, live figures, previews, search, and what a card weighs."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import uvicorn
from playwright.sync_api import Browser, Locator, Page, Route, expect

from app.db import Database, upgrade_tables
from app.main import create_app
from app.settings import Settings
from tests.browser.conftest import SCREENSHOTS, free_port
from tests.browser.watch import DESKTOP, PHONE, Watched, axe, look, new_context, settle

pytestmark = [pytest.mark.browser, pytest.mark.timeout(180)]

LIVE = {
    "flashattention-internals": "tile-memory",
    "arithmetic-intensity": "batch-roofline",
    "kv-cache": "context-cache",
}
PAGES = {
    "topic": "/topics/serving",
    "tag": "/tags/attention",
    "track": "/tracks/flashattention",
    "tracks": "/tracks",
    "card": "/cards/kv-cache",
    "question-open": "/questions/fused-kernel-drift",
    "question-locked": "/questions/flashattention-backward",
    "glossary": "/glossary",
    "search": "/search?q=online+softmax",
    "search-nothing": "/search?q=zzzz",
}
SENT = """async (address) => {
  const html = await (await fetch(address)).text();
  return new DOMParser().parseFromString(html, "text/html").querySelector("[data-live] .live-plot").innerHTML;
}"""
TORN = """() => [...document.querySelectorAll("main *")].filter((e) => /grid|flex/.test(getComputedStyle(e).display)
  && e.querySelector(":scope > :is(.num, .katex, code, em, strong)")
  && [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim())).map((e) => e.textContent)"""
WIDE = """() => {
  for (const each of document.querySelectorAll(".listing details")) each.open = true;
  const all = [...document.querySelectorAll("main :is(.table-scroll, pre)")];
  return all.filter((e) => e.scrollWidth > e.clientWidth).map((e) => e.textContent);
}"""
CARD_BYTES = 150_000  # without the editor, as sent, compressed


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the real application on an empty database, without workers, served from this process."""
    port = free_port()
    settings = Settings(data=tmp_path_factory.mktemp("course"), port=port, log_level="error")
    database = Database(settings.database)
    upgrade_tables(database)
    database.close()
    server = uvicorn.Server(uvicorn.Config(create_app(settings), host="127.0.0.1", port=port, log_level="warning"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    deadline = time.monotonic() + 30
    while not server.started:
        assert time.monotonic() < deadline, "the course did not start"
        time.sleep(0.05)
    yield f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join(5)


@pytest.fixture
def watched(browser: Browser) -> Iterator[Watched]:
    context = new_context(browser, DESKTOP, "light")
    yield Watched(context.new_page())
    context.close()


@pytest.mark.parametrize("name", PAGES)
def test_every_kind_of_page_is_sound(watched: Watched, course: str, name: str) -> None:
    watched.page.goto(course + PAGES[name])
    look(watched, SCREENSHOTS / "course", name)


def test_a_changed_input_changes_what_follows_and_the_address(watched: Watched, course: str) -> None:
    page = watched.page
    page.goto(f"{course}/cards/kv-cache")
    block = page.locator("#worked-token")
    block.scroll_into_view_if_needed()
    given = block.get_by_role("textbox", name="KV heads, both models")
    value = block.locator("tr[data-name=small] .worked-value")
    assert value.inner_text().endswith("128\u202fKiB")
    given.fill("16")
    expect(value).to_have_text("256\u202fKiB")
    quoted = page.locator(".num[data-ref^='token.']").first
    expect(quoted).to_have_class("num as-printed")
    expect(quoted).to_have_attribute("title", "for the inputs as printed")
    page.wait_for_url("**/cards/kv-cache?token.h=16")
    page.reload()
    block.scroll_into_view_if_needed()
    expect(value).to_have_text("256\u202fKiB")
    block.get_by_role("button", name="Reset").click()
    expect(value).to_have_text("128\u202fKiB")
    expect(quoted).to_have_class("num")
    page.wait_for_url("**/cards/kv-cache")
    watched.assert_clean()


def test_a_wrong_input_is_named_and_mended(watched: Watched, course: str) -> None:
    page = watched.page
    page.goto(f"{course}/cards/kv-cache")
    block = page.locator("#worked-token")
    block.scroll_into_view_if_needed()
    given = block.get_by_role("textbox", name="head dimension, both models")
    given.fill("<b>many</b>")
    expect(given).to_have_attribute("aria-invalid", "true")
    expect(block.locator("tr[data-name=small] .worked-value")).to_have_text("–")
    expect(block).to_contain_text("head dimension, both models: That is not a number")
    assert axe(page) == []
    given.fill("64")
    expect(block.locator("tr[data-name=small] .worked-value")).to_have_text("64\u202fKiB")
    watched.assert_clean()


def test_without_script_the_table_and_the_figures_stand(browser: Browser, course: str) -> None:
    context = new_context(browser, DESKTOP, "light", script=False)
    page = context.new_page()
    page.goto(f"{course}/cards/kv-cache")
    expect(page.locator("#worked-token tr[data-name=small] .worked-value")).to_have_text("128\u202fKiB")
    assert page.locator(".worked input").count() == 0
    expect(page.locator("#live-context-cache svg")).to_be_visible()
    expect(page.locator("#live-context-cache fieldset")).to_be_hidden()
    page.goto(f"{course}/search")
    page.get_by_role("searchbox").fill("ridge")
    page.keyboard.press("Enter")
    expect(page.locator(".found mark").first).to_have_text("Ridge")
    context.close()


@pytest.mark.parametrize("card", LIVE)
def test_the_script_draws_what_the_server_sent_and_answers_to_keys(
    watched: Watched, course: str, card: str
) -> None:
    page = watched.page
    page.goto(f"{course}/cards/{card}")
    root = page.locator(f"#live-{LIVE[card]}")
    root.scroll_into_view_if_needed()
    slider = root.locator("input[type=range]").first
    expect(slider).to_be_enabled()  # asked of the slider: a fieldset counts as enabled before its script has come
    sent = page.evaluate(SENT, f"{course}/cards/{card}")
    slider.focus()
    page.keyboard.press("ArrowRight")
    assert drawn(root, lambda plot: plot != sent) != sent
    assert slider.get_attribute("aria-valuetext") == root.locator(".live-shown").first.inner_text()
    page.keyboard.press("ArrowLeft")
    assert drawn(root, lambda plot: plot == sent) == sent
    expect(root.get_by_role("status")).not_to_be_empty()
    watched.assert_clean()


def drawn(root: Locator, as_wished: Callable[[str], bool]) -> str:
    """The plot once it is as wished, or as it is after five seconds: keys are answered in the page's own time."""
    end = time.monotonic() + 5
    while not as_wished(plot := root.locator(".live-plot").inner_html()) and time.monotonic() < end:
        root.page.wait_for_timeout(50)
    return plot


def test_a_preview_comes_on_hover_stays_under_the_pointer_and_goes_with_escape(
    watched: Watched, course: str
) -> None:
    page = watched.page
    page.goto(f"{course}/cards/kv-cache")
    link = page.locator(".prose a.term").first
    preview = page.locator("#preview")
    link.hover()
    expect(preview).to_be_visible()
    expect(preview).to_contain_text("Term")
    assert link.get_attribute("aria-describedby") == "preview"
    preview.hover()
    page.wait_for_timeout(400)
    expect(preview).to_be_visible()
    page.keyboard.press("Escape")
    expect(preview).to_be_hidden()
    watched.assert_clean()


def test_a_preview_comes_on_focus_and_goes_with_it(watched: Watched, course: str) -> None:
    page = watched.page
    page.goto(f"{course}/cards/kv-cache")
    link = page.locator(".prose a[href^='/cards/']").first
    link.focus()
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Tab")
    expect(page.locator("#preview")).to_contain_text("Concept")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    assert link.get_attribute("aria-describedby") is None
    watched.assert_clean()


def test_search_suggests_and_the_keys_choose(watched: Watched, course: str) -> None:
    page = watched.page
    page.goto(f"{course}/glossary")
    page.keyboard.press("/")
    box = page.locator("#find")
    expect(box).to_be_focused()
    page.keyboard.type("specul")
    option = page.get_by_role("option", name=re.compile("Speculative decoding"))
    expect(option).to_be_visible()
    assert axe(page) == []
    page.keyboard.press("Escape")
    expect(option).to_be_hidden()
    page.keyboard.type("a")
    expect(option).to_be_visible()
    page.keyboard.press("ArrowDown")
    assert box.get_attribute("aria-activedescendant") == page.locator("[aria-selected=true]").get_attribute("id")
    page.keyboard.press("Enter")
    page.wait_for_url("**/cards/speculative-decoding")
    watched.assert_clean()


@pytest.mark.parametrize(
    "path", sorted((Path(__file__).parents[2] / "content" / "concepts").glob("*.md")), ids=lambda p: p.stem
)
def test_a_card_is_light_and_nothing_in_it_moves(browser: Browser, course: str, path: Path) -> None:
    for size in (DESKTOP, PHONE):
        context = new_context(browser, size, "light")
        watched = Watched(context.new_page())
        sent = weigh(watched.page, f"{course}/cards/{path.stem}")
        assert 0 < sent <= CARD_BYTES
        assert watched.shift() <= 0.02  # a face for a rare sign moves a line by less than that
        assert watched.page.evaluate(TORN) == [], "words of one sentence stand in cells of their own"
        assert size is PHONE or watched.page.evaluate(WIDE) == [], "a table or program scrolls on a desk"
        context.close()


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["1280", "390"])
def test_faces_that_come_late_move_nothing(browser: Browser, course: str, size: dict[str, int]) -> None:
    context = new_context(browser, size, "light")
    watched = Watched(context.new_page())

    def late(route: Route) -> None:
        watched.page.wait_for_timeout(500)
        route.continue_()

    for name in ("source", "plex", "KaTeX_Main-Regular", "KaTeX_Math-Italic"):
        watched.page.route(f"**/{name}*.woff2", late)
    watched.page.goto(f"{course}/cards/causal-masks-with-a-cache", wait_until="networkidle")
    settle(watched.page)
    assert watched.shift() <= 0.02
    context.close()


def weigh(page: Page, address: str) -> int:
    """The bytes that a first visit takes over the wire, headers of the answers not counted."""
    sizes: list[int] = []
    page.on("requestfinished", lambda request: sizes.append(request.sizes()["responseBodySize"]))
    page.goto(address, wait_until="networkidle")
    settle(page)
    return sum(sizes)
