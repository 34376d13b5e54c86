"""What a page did wrong while it was open: console errors, exceptions, policy violations, layout that moved."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page

DESKTOP = {"width": 1280, "height": 800}
PHONE = {"width": 390, "height": 844}
SIZES = {"1280": DESKTOP, "390": PHONE}
AXE = (Path(__file__).parent / "vendor" / "axe.min.js").read_text()

LISTEN = """
window.violations = [];
document.addEventListener("securitypolicyviolation", (e) => {
  window.violations.push(`${e.violatedDirective} ${e.blockedURI} ${e.sourceFile}:${e.lineNumber}`);
});
window.shift = 0;
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) if (!entry.hadRecentInput) window.shift += entry.value;
}).observe({ type: "layout-shift", buffered: true });
"""


class Watched:
    """A page whose faults are collected. `quiet` texts are console messages that the test causes on purpose."""

    def __init__(self, page: Page, quiet: tuple[str, ...] = ()) -> None:
        self.page = page
        self.quiet = quiet
        self.faults: list[str] = []
        page.add_init_script(LISTEN)
        page.on("console", self._console)
        page.on("pageerror", lambda error: self.faults.append(f"exception: {error}"))

    def _console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning") and not any(text in message.text for text in self.quiet):
            self.faults.append(f"console: {message.text}")

    def assert_clean(self) -> None:
        """Nothing was logged, thrown or blocked, and the page does not scroll sideways."""
        self.faults += [f"policy: {one}" for one in self.page.evaluate("window.violations ?? []")]
        assert self.faults == [], self.page.url
        wide = self.page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
        assert wide[0] <= wide[1], f"{self.page.url} scrolls sideways: {wide[0]} > {wide[1]}"

    def shift(self) -> float:
        """The sum of layout shifts that nobody asked for."""
        self.page.wait_for_timeout(200)
        value: float = self.page.evaluate("window.shift")
        return value


def new_context(browser: Browser, size: dict[str, int], scheme: str, script: bool = True) -> BrowserContext:
    return browser.new_context(
        viewport={"width": size["width"], "height": size["height"]},
        color_scheme="dark" if scheme == "dark" else "light",
        java_script_enabled=script,
        reduced_motion="reduce",
    )


def settle(page: Page) -> None:
    """Wait until the faces are there and the layout has answered."""
    page.evaluate(
        "document.fonts.ready.then(() => new Promise((go) => requestAnimationFrame(() => setTimeout(go, 50))))"
    )


COLOURS = ("color-contrast", "link-in-text-block")


def axe(page: Page, rules: tuple[str, ...] = ()) -> list[str]:
    """What axe finds serious or critical, a line each; by all of its rules unless some are named."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE)
    found: list[dict[str, Any]] = page.evaluate(
        "(rules) => axe.run(document, { resultTypes: ['violations'],"
        " ...(rules.length ? { runOnly: { type: 'rule', values: rules } } : {}) }).then((r) => r.violations)",
        list(rules),
    )
    return [
        f"{one['impact']} {one['id']}: {node['target']} {node.get('failureSummary', '')}"
        for one in found
        if one["impact"] in ("serious", "critical")
        for node in one["nodes"]
    ]


def shoot(page: Page, folder: Path, name: str) -> None:
    """Keep a picture to look at, when pictures are asked for: `make test PICTURES=yes TESTS=tests/browser`."""
    if not os.environ.get("PICTURES"):
        return
    folder.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=str(folder / f"{name}.png"), full_page=True)


def look(watched: Watched, folder: Path, name: str) -> None:
    """Look at the open page at both widths and in both themes: it follows the reader's scheme, so one load does."""
    page = watched.page
    for label, size in SIZES.items():
        page.set_viewport_size({"width": size["width"], "height": size["height"]})
        for theme in ("light", "dark"):
            page.emulate_media(color_scheme=theme)
            settle(page)
            watched.assert_clean()
            shoot(page, folder, f"{name}-{label}-{theme}")
            if size is DESKTOP:  # only colours differ between the themes
                assert axe(page, () if theme == "light" else COLOURS) == [], (name, theme)
    page.emulate_media(color_scheme="light")
    page.set_viewport_size({"width": DESKTOP["width"], "height": DESKTOP["height"]})
