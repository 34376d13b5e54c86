"""Authored Markdown to HTML. `Author.sections` renders a body, `Author.inline` one line of front matter.

Containers: `::: figure name`, `::: live name`, `::: listing name` (what they hold is the caption), `::: note`; in
editorials also `::: source file name` and `::: kills`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup
from mdit_py_plugins.container import container_plugin
from mdit_py_plugins.dollarmath import dollarmath_plugin

from app.course.excerpts import excerpt_html
from app.course.inline import signs_plugin
from app.course.kills import kills_html
from app.course.listings import table_html
from app.course.models import Section
from app.course.render import base_parser, highlight_code
from app.course.resolve import collect_worked, resolve
from app.course.scope import Page
from app.course.worked import worked_html

COMMAND = re.compile(r"\\([A-Za-z]+|[,;:! ])")
LOOSE = re.compile(r" (?=[.,;:)])")  # what a citation leaves behind
SPELLED = frozenset(["exp", "log", "max", "min", "alpha", "beta", "gamma", "sigma"])
SIGNS = {
    "times": "×",
    "cdot": "·",
    "le": "≤",
    "leq": "≤",
    "ge": "≥",
    "geq": "≥",
    "ne": "≠",
    "approx": "≈",
    "infty": "∞",
    "sum": "Σ",
    "ell": "ℓ",
    "ldots": "…",
    "dots": "…",
    "sqrt": "√",
    "in": "∈",
    "to": "→",
    "circ": "∘",
    "top": "ᵀ",
}


@lru_cache(maxsize=1)
def _parser() -> MarkdownIt:
    parser = base_parser(html=False)
    dollarmath_plugin(parser, allow_space=False, allow_digits=False, allow_labels=False, allow_blank_lines=False)
    for name in ("figure", "listing", "live", "note", "source", "kills"):
        parser.use(container_plugin, name)
    signs_plugin(parser)
    parser.core.ruler.after("block", "worked", collect_worked)
    parser.core.ruler.push("resolve", resolve)
    for name, rule in RULES.items():
        parser.add_render_rule(name, rule)
    return parser


def render_sections(text: str, line: int, page: Page) -> tuple[list[Section], dict[str, int], dict[str, str]]:
    """A body cut at its ## headings. The first section has no title.

    Also returns, by section id, the line of each heading and the plain text of each section.
    """
    page.first_line = line
    parser = _parser()
    env: dict[str, Any] = {"page": page}
    tokens = parser.parse(text, env)
    sections: list[Section] = []
    lines: dict[str, int] = {}
    words: dict[str, str] = {}
    for heading, body in _cut(tokens):
        name, title = "", Markup("")
        if heading is not None:
            name = heading[0].meta["id"]
            title = parser.renderer.render([heading[1]], parser.options, env)
            lines[name] = line + (heading[0].map or [0])[0]
        html = parser.renderer.render(body, parser.options, env)
        words[name] = _words(body)
        sections.append(Section(name, _plain_title(title), Markup(html), words[name]))  # noqa: S704
    page.words.clear()
    return sections, lines, words


def render_blocks(text: str, line: int, page: Page) -> Markup:
    """A text without sections."""
    page.first_line = line
    return Markup(_parser().render(text, {"page": page}))  # noqa: S704 - raw HTML is off


def render_line(text: str, line: int, page: Page) -> Markup:
    """One paragraph's content without the paragraph: for front matter."""
    page.first_line = line
    return Markup(_parser().renderInline(text, {"page": page}))  # noqa: S704 - raw HTML is off


def _cut(tokens: Sequence[Token]) -> list[tuple[tuple[Token, Token] | None, list[Token]]]:
    parts: list[tuple[tuple[Token, Token] | None, list[Token]]] = [(None, [])]
    index = 0
    while index < len(tokens):
        token = tokens[index]
        if token.type == "heading_open" and token.tag == "h2" and token.level == 0:
            parts.append(((token, tokens[index + 1]), []))
            index += 3
            continue
        parts[-1][1].append(token)
        index += 1
    return parts


def _plain_title(html: str) -> str:
    return str(Markup(html).striptags())  # noqa: S704 - made by the renderer


def _words(tokens: Sequence[Token]) -> str:
    words: list[str] = []
    for token in tokens:
        for child in token.children or []:
            words.append(_word(child))
        words.append(" ")
    return LOOSE.sub("", re.sub(r"\s+", " ", "".join(words))).strip()


def _word(child: Token) -> str:
    if child.type == "number":
        return str(child.meta.get("text", ""))
    if child.type == "math_inline":
        return tex_words(child.content) + str(child.meta.get("tail", ""))
    if child.type in ("softbreak", "hardbreak"):
        return " "
    return "" if child.type == "citation" else child.content


def tex_words(tex: str) -> str:
    """A formula as it would be typed without TeX: `m_i`, `Σ`, `≤`. Commands that are only for looks go."""
    named = COMMAND.sub(lambda match: SIGNS.get(match[1], match[1] if match[1] in SPELLED else ""), tex)
    return re.sub(r"[{}\\]|\s+", "", named)


# --- print rules: (renderer, tokens, index, options, env) → HTML ---


def _fence(self: Any, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    token = tokens[index]
    words = token.info.split()
    if words[:1] != ["worked"]:
        return highlight_code(token.content, words[0] if words else "text")
    block = env["page"].worked.get(words[1] if len(words) == 2 else "")
    return "" if block is None else str(worked_html(block))


def _math_inline(self: Any, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    math = f'<span class="math">{tokens[index].meta["html"]}</span>'
    tail = tokens[index].meta.get("tail", "")
    return f'<span class="nowrap">{math}{tail}</span>' if tail else math


def _math_block(self: Any, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    return f'<div class="math-block">{tokens[index].meta["html"]}</div>\n'


def _number(self: Any, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    token = tokens[index]
    return str(Markup('<span class="num" data-ref="{}">{}</span>').format(token.content, token.meta["text"]))


def _citation(self: Any, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    token = tokens[index]
    if "number" not in token.meta:
        return str(Markup("[@{}]").format(token.content))
    return str(
        Markup('<a class="cite" href="#source-{}" aria-label="Source {}">[{}]</a>').format(
            token.content, token.meta["number"], token.meta["number"]
        )
    )


def _heading(self: Any, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    return str(Markup('<{} id="{}">').format(tokens[index].tag, tokens[index].meta["id"]))


def _table_open(self: Any, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    return '<div class="table-scroll" tabindex="0"><table class="plain">\n'


def _table_close(self: Any, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    return "</table></div>\n"


def _figure(self: Any, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    token = tokens[index]
    if token.nesting == -1:
        return "</figcaption></figure>\n"
    name, html = token.meta["name"], token.meta.get("html", "")
    return str(Markup('<figure class="figure" id="fig-{}">{}<figcaption>').format(name, html))


def _live(self: Any, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    token = tokens[index]
    if token.nesting == -1:
        return "</figcaption></figure>\n"
    name, html = token.meta["name"], token.meta.get("html", "")
    return str(
        Markup('<figure class="figure live" id="live-{}" data-live="{}">{}<figcaption>').format(name, name, html)
    )


def _listing(self: Any, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    token = tokens[index]
    if token.nesting == -1:
        return "</figcaption></figure>\n"
    name = token.meta["name"]
    listing = env["page"].scope.listings.get(name)
    html = "" if listing is None else table_html(listing)
    return str(Markup('<figure class="listing" id="listing-{}">{}<figcaption>').format(name, html))


def _note(self: Any, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    return "</aside>\n" if tokens[index].nesting == -1 else '<aside class="note">\n'


def _source(self: Any, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    if tokens[index].nesting == -1:
        return "</div>\n"
    excerpt = tokens[index].meta.get("excerpt")
    return '<div class="excerpt">' if excerpt is None else str(excerpt_html(excerpt))


def _kills(self: Any, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    if tokens[index].nesting == -1:
        return "</figcaption></figure>\n"
    names = tokens[index].meta.get("names")
    html = "" if names is None else kills_html(env["page"].matrix, names)
    return f'<figure class="kills-figure">{html}<figcaption>'


def _code_inline(self: Any, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    token = tokens[index]
    code = Markup("<code>{}</code>").format(token.content)
    if "line" not in token.meta:
        return str(code)
    excerpt, line = token.meta["line"]
    return str(Markup('<a class="at" href="#{}-l{}">{}</a> {}').format(excerpt.anchor, line, line, code))


RULES = {
    "fence": _fence,
    "code_block": _fence,
    "code_inline": _code_inline,
    "math_inline": _math_inline,
    "math_block": _math_block,
    "number": _number,
    "citation": _citation,
    "heading_open": _heading,
    "table_open": _table_open,
    "table_close": _table_close,
    "container_figure_open": _figure,
    "container_figure_close": _figure,
    "container_listing_open": _listing,
    "container_listing_close": _listing,
    "container_live_open": _live,
    "container_live_close": _live,
    "container_note_open": _note,
    "container_note_close": _note,
    "container_source_open": _source,
    "container_source_close": _source,
    "container_kills_open": _kills,
    "container_kills_close": _kills,
}
