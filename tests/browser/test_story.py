"""The main job in a real browser against real processes: sign up, read, fail and see where, pass, see progress.

Once with JavaScript, once without, and once by keyboard alone.
"""

from __future__ import annotations

import re
import secrets
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import ROOT, SCREENSHOTS
from tests.browser.watch import DESKTOP, Watched, axe, look, new_context

pytestmark = [pytest.mark.browser, pytest.mark.sandbox, pytest.mark.timeout(300)]

DRILL = ROOT / "drills" / "tiled_softmax"
WRONG = DRILL / "mutants" / "no_rescale.py"
RIGHT = DRILL / "correct" / "online.py"
PASSWORD = "a long enough phrase"
PATIENCE = 60_000.0  # milliseconds for a verdict on a machine shared with other tests


def sign_up(page: Page, site: str) -> str:
    name = f"learner-{secrets.token_hex(4)}"
    page.goto(f"{site}/sign-up")
    page.get_by_label("Name").fill(name)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Make the account").click()
    expect(page.get_by_role("banner").get_by_text(name)).to_be_visible()
    return name


def paste(page: Page, file: Path) -> None:
    """Replace what is in the editor, as pasting would."""
    page.locator(".cm-content").click()
    page.keyboard.press("ControlOrMeta+a")
    page.evaluate(
        """(text) => {
          const data = new DataTransfer();
          data.setData("text/plain", text);
          const target = document.querySelector(".code-host").shadowRoot.querySelector(".cm-content");
          target.dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, cancelable: true }));
        }""",
        file.read_text(),
    )


def assert_says_what_failed_and_where(page: Page) -> None:
    verdict = page.locator(".verdict")
    assert verdict.get_attribute("data-outcome") == "wrong_answer"
    case = verdict.locator("details.case[open]").first
    expect(case.get_by_text("expected", exact=True)).to_be_visible()
    expect(case.get_by_text("actual", exact=True)).to_be_visible()
    expect(case.locator(".where")).to_contain_text("index")
    expect(case.locator(".where")).to_contain_text("tile")
    expect(verdict.locator("#smallest")).to_contain_text("fails")
    expect(verdict.locator("#error figure > svg")).to_be_visible()
    expect(verdict.locator("#question")).to_contain_text("?")


def test_newcomer_reads_fails_passes_and_sees_it(browser: Browser, site: str) -> None:
    context = new_context(browser, DESKTOP, "light")
    watched = Watched(context.new_page())
    page = watched.page
    page.goto(site)
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    sign_up(page, site)

    page.goto(f"{site}/cards/online-softmax")
    expect(page.get_by_role("heading", level=1)).to_have_text("Online softmax")
    page.get_by_role("button", name="Mark as read").click()
    expect(page.locator(".mark-read")).to_contain_text("read")
    page.get_by_role("complementary").get_by_role("link", name="Tiled softmax").click()
    expect(page).to_have_url(re.compile("/drills/tiled_softmax$"))

    expect(page.locator(".statement .katex").first).to_be_visible()
    paste(page, WRONG)
    page.keyboard.press("ControlOrMeta+Shift+Enter")
    expect(page.locator("#results .verdict")).to_be_visible(timeout=PATIENCE)
    assert_says_what_failed_and_where(page)
    expect(page.locator("#results [data-announce]")).to_contain_text("Wrong answer")
    watched.assert_clean()
    page.get_by_role("link", name="Open on its own page").click()
    assert_says_what_failed_and_where(page)
    assert axe(page) == []
    page.screenshot(path=str(_folder() / "verdict-fold-1280-light.png"))

    page.get_by_role("link", name="Back to the editor").click()
    paste(page, RIGHT)
    page.get_by_role("button", name="Submit").click()
    expect(page.locator("#results .verdict[data-outcome=accepted]")).to_be_visible(timeout=PATIENCE)
    expect(page.locator("#results [data-announce]")).to_contain_text("Accepted")
    expect(page.locator(".tries li")).to_have_count(2)

    page.goto(f"{site}/progress")
    expect(page.locator(".lead")).to_contain_text("1 drill passed, 1 piece read")
    expect(page.get_by_role("listitem").filter(has_text="Tiled softmax").first).to_contain_text("passed")
    watched.assert_clean()
    context.close()


def test_the_same_without_javascript(browser: Browser, site: str) -> None:
    context = new_context(browser, DESKTOP, "light", script=False)
    page = context.new_page()
    sign_up(page, site)
    page.goto(f"{site}/cards/online-softmax")
    page.get_by_role("button", name="Mark as read").click()
    expect(page.locator(".mark-read")).to_contain_text("read")
    for file, outcome in ((WRONG, "wrong_answer"), (RIGHT, "accepted")):
        page.goto(f"{site}/drills/tiled_softmax")
        page.locator("#code").fill(file.read_text())
        page.get_by_role("button", name="Submit").click()
        expect(page).to_have_url(re.compile("/submissions/"))
        expect(page.locator(f".verdict[data-outcome={outcome}]")).to_be_visible(
            timeout=PATIENCE
        )  # refreshes itself
        if outcome == "wrong_answer":
            assert_says_what_failed_and_where(page)
    page.goto(f"{site}/progress")
    expect(page.locator(".lead")).to_contain_text("1 drill passed, 1 piece read")
    context.close()


def tab_to(page: Page, name: str, most: int = 80) -> None:
    """Press Tab until the focus is on what is called `name`."""
    named = """(name) => {
      let node = document.activeElement;
      while (node?.shadowRoot?.activeElement) node = node.shadowRoot.activeElement;
      return (node?.getAttribute("aria-label") || node?.textContent || "").includes(name);
    }"""
    for _ in range(most):
        page.keyboard.press("Tab")
        if page.evaluate(named, name):
            return
    pytest.fail(f"Tab never reached {name!r} on {page.url}")


def test_read_code_submit_and_read_feedback_by_keyboard_alone(browser: Browser, site: str) -> None:
    context = new_context(browser, DESKTOP, "light")
    page = context.new_page()
    sign_up(page, site)
    page.goto(f"{site}/cards/online-softmax")
    tab_to(page, "Tiled softmax")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("/drills/tiled_softmax$"))
    expect(page.locator(".cm-content")).to_be_visible()
    tab_to(page, "Your code, in Python")
    page.keyboard.press("ControlOrMeta+Home")
    page.keyboard.type("# by hand")
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")  # indents inside the editor
    assert page.locator("#code").input_value().startswith("# by hand\n    ")
    page.keyboard.press("ControlOrMeta+z")
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.textContent") == "Run"
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Submit"
    page.keyboard.press("Enter")
    expect(page.locator("#results .verdict")).to_be_visible(timeout=PATIENCE)
    tab_to(page, "more failing case")
    page.keyboard.press("Enter")
    expect(page.locator("#results details.more[open]").first).to_be_visible()
    context.close()


def test_a_draft_survives_a_reload_and_signing_out_takes_it_away(browser: Browser, site: str) -> None:
    context = new_context(browser, DESKTOP, "light")
    page = context.new_page()
    page.goto(f"{site}/drills/tiled_softmax")
    page.locator(".cm-content").click()
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.type("x = 1")
    expect(page.locator("[data-draft-state]")).to_contain_text("kept in this browser")
    page.reload()
    expect(page.locator(".cm-content")).to_contain_text("x = 1")
    sign_up(page, site)
    page.goto(f"{site}/drills/tiled_softmax")
    expect(page.locator(".cm-content")).to_contain_text("x = 1")  # the draft follows into the account
    page.get_by_role("button", name="Sign out").click()
    page.goto(f"{site}/drills/tiled_softmax")
    expect(page.locator(".cm-content")).not_to_contain_text("x = 1")
    context.close()


def test_a_file_that_does_not_load_marks_its_line_in_the_editor(
    browser: Browser, site: str, tmp_path: Path
) -> None:
    broken = tmp_path / "broken.py"
    broken.write_text("import torch\n\ndef softmax(x:\n    return x\n")
    context = new_context(browser, DESKTOP, "light")
    watched = Watched(context.new_page())
    page = watched.page
    sign_up(page, site)
    page.goto(f"{site}/drills/tiled_softmax")
    paste(page, broken)
    page.get_by_role("button", name="Submit").click()
    expect(page.locator("#results .verdict[data-outcome=compile_error]")).to_be_visible(timeout=PATIENCE)
    expect(page.locator(".cm-fails")).to_have_count(1)
    watched.assert_clean()
    context.close()


PAGES = {
    "home": "/",
    "topic": "/topics/kernels",
    "tag": "/tags/softmax",
    "card-online-softmax": "/cards/online-softmax",
    "card-flashattention": "/cards/flashattention-internals",
    "question": "/questions/fused-kernel-drift",
    "tracks": "/tracks",
    "track": "/tracks/flashattention",
    "glossary": "/glossary",
    "drills": "/drills",
    "workspace": "/drills/tiled_softmax",
    "submissions": "/submissions",
    "progress": "/progress",
    "missing": "/nothing/here",
}


def test_every_real_page_is_sound(browser: Browser, site: str) -> None:
    context = new_context(browser, DESKTOP, "light")
    watched = Watched(context.new_page(), quiet=("404 (Not Found)",))
    for name in ("home", "workspace"):
        watched.page.goto(f"{site}{PAGES[name]}")
        look(watched, _folder(), f"{name}-anonymous")
    sign_up(watched.page, site)
    for name, path in PAGES.items():
        watched.page.goto(f"{site}{path}")
        look(watched, _folder(), name)
    context.close()


@pytest.mark.parametrize(
    ("path", "kilobytes"),
    [("/cards/online-softmax", 150), ("/cards/flashattention-internals", 150), ("/drills/tiled_softmax", 450)],
)
def test_pages_keep_their_budget(browser: Browser, site: str, path: str, kilobytes: int) -> None:
    context = new_context(browser, DESKTOP, "light")
    page = context.new_page()
    page.goto(f"{site}{path}")
    page.wait_for_load_state("networkidle")
    sizes = page.evaluate(
        "performance.getEntries().filter((e) => e.transferSize).map((e) => [e.name, e.transferSize])"
    )
    assert sum(size for _, size in sizes) <= kilobytes * 1024, sizes
    context.close()


def _folder() -> Path:
    folder = SCREENSHOTS / "real"
    folder.mkdir(parents=True, exist_ok=True)
    return folder
