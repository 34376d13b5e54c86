"""TeX to HTML at compile time: KaTeX inside a JavaScript engine, with no inline style left in its output.

KaTeX positions its boxes with `style` attributes, which a content security policy without 'unsafe-inline' ignores.
Each distinct declaration becomes one class (`k-` and a short number) and one rule of the snapshot's stylesheet.
docs/adr/0002-math.md has the measurements behind this.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from pathlib import Path
from typing import Any

import quickjs

KATEX = Path(__file__).parent / "vendor" / "katex.min.js"
MAX_TEX = 2000
SECONDS = 5.0  # for one formula
MEMORY_BYTES = 256 * 1024 * 1024

# KaTeX's own safety options: no \href or raw HTML, bounded macro expansion and box sizes, warnings are errors.
CALL = """
function formula(tex, display, output) {
  try {
    const html = katex.renderToString(tex, {displayMode: display, output: output, throwOnError: true,
      strict: "error", trust: false, maxExpand: 200, maxSize: 20});
    return JSON.stringify({html: html});
  } catch (error) {
    return JSON.stringify({error: String(error.message || error)});
  }
}
"""
STYLE = re.compile(r' style="([^"]*)"')
TAG = re.compile(r"<[a-z][^<>]* style=\"[^\"]*\"[^<>]*>")
SAFE_DECLARATION = re.compile(r"[a-z-]+:[a-z0-9#.%+-]+", re.IGNORECASE)


class FormulaError(ValueError):
    """TeX that KaTeX refuses. The message says why and where."""


@lru_cache(maxsize=1)
def _engine() -> quickjs.Function:
    function = quickjs.Function("formula", KATEX.read_text(encoding="utf-8") + CALL)
    function.set_memory_limit(MEMORY_BYTES)
    function.set_time_limit(SECONDS)
    return function


@lru_cache(maxsize=4096)
def _katex(tex: str, display: bool, output: str) -> str:
    if len(tex) > MAX_TEX:
        raise FormulaError(f"the formula is longer than {MAX_TEX} characters")
    try:
        answer: dict[str, Any] = json.loads(_engine()(tex, display, output, run_gc=False))
    except (quickjs.JSException, quickjs.StackOverflow) as error:
        raise FormulaError("the formula is too deep") from error
    if "error" in answer:
        raise FormulaError(" ".join(str(answer["error"]).removeprefix("KaTeX parse error: ").split()))
    html: str = answer["html"]
    return html


def _base36(number: int) -> str:
    head = _base36(number // 36) if number >= 36 else ""
    return head + "0123456789abcdefghijklmnopqrstuvwxyz"[number % 36]


class Stylesheet:
    """Collects the declarations that formulas need: one rule each, with short names, since pages repeat them."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}

    def name(self, declaration: str) -> str:
        """The class that stands for one declaration such as `height:0.75em`."""
        if not SAFE_DECLARATION.fullmatch(declaration):
            raise FormulaError(f"the formula needs a style that is not allowed: {declaration}")
        return self._names.setdefault(declaration, f"k-{_base36(len(self._names))}")

    def text(self) -> str:
        # KaTeX's inline styles outrank its own stylesheet, so their stand-ins must as well.
        return "".join(f".{name}{{{rule} !important}}\n" for rule, name in self._names.items())


def render_formula(tex: str, *, display: bool, styles: Stylesheet) -> str:
    """HTML with hidden MathML for screen readers. Raises `FormulaError`."""
    return TAG.sub(lambda match: _without_style(match.group(0), styles), _katex(tex, display, "htmlAndMathml"))


def render_formula_plain(tex: str, *, display: bool) -> str:
    """MathML alone, which needs no stylesheet: for text outside a snapshot. Raises `FormulaError`."""
    html = _katex(tex, display, "mathml")
    if STYLE.search(html):
        raise FormulaError("the formula needs a style that is not allowed here")
    return html


def _without_style(tag: str, styles: Stylesheet) -> str:
    match = STYLE.search(tag)
    if match is None:
        return tag
    declarations = [part.strip() for part in match.group(1).split(";") if part.strip()]
    names = " ".join(styles.name(re.sub(r"\s*:\s*", ":", part)) for part in declarations)
    bare = STYLE.sub("", tag, count=1)
    if ' class="' in bare:
        return bare.replace(' class="', f' class="{names} ', 1)
    return re.sub(r"^<([a-z]+)", rf'<\1 class="{names}"', bare, count=1)
