"""The figure of the home page computes what it shows: its kernels fail where their faults say, and nowhere else."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from playwright.sync_api import Browser, Page

from tests.browser.watch import DESKTOP, Watched, new_context

pytestmark = pytest.mark.browser


@pytest.fixture
def home(browser: Browser, gallery_site: str) -> Iterator[Page]:
    context = new_context(browser, DESKTOP, "light")
    watched = Watched(context.new_page())
    watched.page.goto(f"{gallery_site}/gallery/welcome/usual")
    yield watched.page
    watched.assert_clean()
    context.close()


def move_to(page: Page, tokens: str) -> None:
    slider = page.locator("#drift-length")
    slider.focus()
    page.keyboard.press("Home")
    for _ in range(40):
        if page.locator("[data-length]").text_content() == tokens:
            return
        page.keyboard.press("ArrowRight")
    pytest.fail(f"no stop at {tokens} tokens")


def verdicts(page: Page) -> dict[str, str]:
    rows = page.locator("tr[data-fault]").all()
    return {
        row.get_attribute("data-fault") or "": row.locator("[data-verdict]").inner_text().strip() for row in rows
    }


@pytest.mark.parametrize(
    ("data", "tokens", "failing"),
    [
        ("rising", "64", set()),
        ("rising", "512", set()),  # as the headline says: they agree there
        ("rising", "65", {"padding"}),
        ("rising", "8,000", {"rescale", "half"}),
        ("falling", "8,192", {"half"}),
        ("flat", "129", {"padding"}),
        ("random", "8,192", {"rescale", "half"}),
    ],
)
def test_each_fault_fails_where_it_must(home: Page, data: str, tokens: str, failing: set[str]) -> None:
    home.get_by_label(data, exact=True).check()
    move_to(home, tokens)
    assert {fault for fault, said in verdicts(home).items() if said == "fails"} == failing


NUMBERS = [1 / 3, 2049, 2051, -2049, 65519, 65520, 1e-7, 6e-8, 0, 0.1]


def test_half_precision_is_rounded_as_the_format_says(home: Page) -> None:
    script = "async (numbers) => numbers.map((await import('/static/js/drift.js')).toHalf)"
    with np.errstate(over="ignore"):
        assert home.evaluate(script, NUMBERS) == [float(np.float16(x)) for x in NUMBERS]
