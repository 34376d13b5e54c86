"""Markdown to HTML: authored text and learner text, two doors that share one parser.

`Renderer.blocks` / `Renderer.inline` are for authored content and report what is wrong with it.
`render_untrusted` is for whatever a learner typed: no raw HTML, no figures, no references, everything through nh3.

Neither ever emits inline style or script: the page's content security policy forbids both.

Class names in the output (styled in app/static): `math`, `math-block`, `code` (Pygments tokens inside), `figure`,
`worked`, `listing`, `num` (a number that a worked block or a listing gave), `term`, `cite`, `note`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import nh3
from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.token import Token
from markupsafe import Markup
from mdit_py_plugins.deflist import deflist_plugin
from mdit_py_plugins.dollarmath import dollarmath_plugin
from mdit_py_plugins.footnote import footnote_plugin
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name
from pygments.token import STANDARD_TYPES
from pygments.util import ClassNotFound

from app.course.formulas import FormulaError, render_formula_plain

PLACEHOLDER_SIGNS = re.compile("[\ue000\ue001]")  # private use: stand for a formula while the rest is cleaned
PLACEHOLDER = re.compile("\ue000(\\d+)\ue001")
MOST_FORMULAS = 100
DEEPEST = 40  # levels of nesting, of which a list takes two; the parser drops what is deeper than its own limit
LEARNER_TAGS = frozenset(
    [
        *("a", "blockquote", "br", "code", "dd", "del", "dl", "dt", "em", "h3", "h4", "h5", "h6", "hr", "li", "ol"),
        *("p", "pre", "s", "strong", "span", "table", "tbody", "td", "th", "thead", "tr", "ul"),
    ]
)


def known_language(name: str) -> bool:
    """Whether Pygments can colour this language."""
    try:
        get_lexer_by_name(name)
    except ClassNotFound:
        return False
    return True


def highlight_code(source: str, language: str) -> str:
    """Code as HTML with Pygments' class names; plain and escaped when the language is unknown."""
    lexer = get_lexer_by_name(language if known_language(language) else "text", stripnl=False)
    formatter: HtmlFormatter[str] = HtmlFormatter(nowrap=True)
    inner = highlight(source, lexer, formatter)
    label = Markup.escape(language or "text")
    return f'<pre class="code" tabindex="0" data-language="{label}"><code>{inner}</code></pre>\n'


def base_parser(*, html: bool) -> MarkdownIt:
    """CommonMark with tables, strike-through, definition lists and footnotes. Links are never made by guessing."""
    parser = MarkdownIt("commonmark", {"html": html, "highlight": None, "maxNesting": 2 * DEEPEST})
    parser.block.ruler.before("table", "too_deep", _too_deep)
    parser.enable(["table", "strikethrough"]).use(deflist_plugin).use(footnote_plugin)
    return parser


def _too_deep(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """What nests deeper than anybody reads stands as it was typed, so that no word of it is lost."""
    if state.level < DEEPEST or silent:
        return False
    token = state.push("code_block", "code", 0)
    token.content = state.getLines(start, end, state.blkIndent, False)
    token.map = [start, end]
    state.line = end
    return True


@lru_cache(maxsize=1)
def _untrusted_parser() -> MarkdownIt:
    parser = base_parser(html=False)
    parser.disable(["image", "footnote_inline", "footnote_ref", "footnote_def"], ignoreInvalid=True)
    dollarmath_plugin(parser, allow_space=False, allow_digits=False, allow_labels=False, allow_blank_lines=False)
    parser.add_render_rule("math_inline", _placeholder)
    parser.add_render_rule("math_block", _placeholder)
    parser.add_render_rule("fence", lambda self, tokens, i, options, env: _fence(tokens[i].content, tokens[i].info))
    return parser


def _fence(content: str, info: str) -> str:
    return highlight_code(content, info.split()[0] if info.split() else "text")


def render_untrusted(text: str) -> Markup:
    """A learner's Markdown as safe HTML. Hostile input comes out without script, style or foreign tags."""
    clean = text.encode("utf-8", "replace").decode("utf-8").replace("\0", "�")
    formulas: list[str] = []
    html: str = _untrusted_parser().render(PLACEHOLDER_SIGNS.sub("�", clean), {"formulas": formulas})
    safe = nh3.clean(
        html,
        tags=set(LEARNER_TAGS),
        attributes={"a": {"href", "title"}, "td": set(), "th": set(), "ol": {"start"}},
        url_schemes={"https", "http", "mailto"},
        link_rel="nofollow ugc noopener noreferrer",
        allowed_classes={"pre": {"code"}, "span": _token_classes()},
    )
    # Formulas are set after the cleaning: MathML is not in its list of tags, and KaTeX escapes what it is given.
    return Markup(PLACEHOLDER.sub(lambda match: formulas[int(match[1])], safe))  # noqa: S704 - nh3 cleaned it


def _placeholder(self: Any, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    formulas: list[str] = env["formulas"]
    tex, display = tokens[index].content, tokens[index].type == "math_block"
    try:
        if len(formulas) >= MOST_FORMULAS:
            raise FormulaError("too many formulas")
        html = render_formula_plain(tex, display=display)
    except FormulaError:
        html = str(Markup("<code>{}</code>").format(tex))
    formulas.append(f'<div class="math-block">{html}</div>' if display else f'<span class="math">{html}</span>')
    return f"\ue000{len(formulas) - 1}\ue001"


@lru_cache(maxsize=1)
def _token_classes() -> set[str]:
    return {name for name in STANDARD_TYPES.values() if name}


def render_markdown(text: str) -> Markup:
    """Plain authored Markdown, without references to the rest of the course."""
    parser = base_parser(html=False)
    parser.add_render_rule("fence", lambda self, tokens, i, options, env: _fence(tokens[i].content, tokens[i].info))
    return Markup(parser.render(text))  # noqa: S704 - raw HTML is off
