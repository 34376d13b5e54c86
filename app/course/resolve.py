"""The checks and look-ups between parsing and printing: every link, number, formula, figure and citation of a page.

Runs as the last core rule of the parser, on tokens that still know their lines. What cannot be resolved is reported
and printed as plain text, so that one mistake never hides the next.
"""

from __future__ import annotations

import re

from markdown_it.rules_core import StateCore
from markdown_it.token import Token
from markupsafe import Markup, escape

from app.course.expression import ExpressionError
from app.course.figures import Figure
from app.course.formulas import FormulaError, render_formula
from app.course.inline import REFERENCE, CellReference, WorkedReference, parse_reference
from app.course.living import live_html, live_names
from app.course.models import Kind, Link
from app.course.quantities import quantity_text
from app.course.render import known_language
from app.course.scope import Mention, Page, parse_link, slug
from app.course.shown import resolve_kills, resolve_source
from app.course.units import NUMBER_WITH_UNIT, UnitError
from app.course.worked import fitting_unit, read_worked

TAG = re.compile(r"</?[a-zA-Z][^<>]*>")
WORKED_NAME = re.compile(r"[a-z][a-z0-9_]*")
PUNCTUATION = re.compile(r"[,.;:)?!]+")
SHORT_FORMULA = 24  # characters of TeX: such a formula need not break across lines
CONTAINERS = ("figure", "listing", "live")
SELF = Link(Kind.CARD, "")  # stands for "this page" in a mention of an anchor


def collect_worked(state: StateCore) -> None:
    """First rule: evaluate the worked blocks, because prose above them may already use their numbers."""
    page: Page = state.env["page"]
    for token in state.tokens:
        words = token.info.split()
        if token.type != "fence" or words[:1] != ["worked"]:
            continue
        line = _line(page, token)
        if len(words) != 2 or not WORKED_NAME.fullmatch(words[1]):
            page.report(line, "worked", "a worked block has no name", "open it with ```worked some_name")
        elif words[1] in page.worked:
            page.report(line, "worked", f"two worked blocks are called '{words[1]}'", "rename one")
        else:
            block, problems = read_worked(words[1], token.content, page.file, line + 1)
            page.problems.extend(problems)
            if block is None:
                page.unfit.add(words[1])
            else:
                page.worked[block.name] = block
                page.claim(f"worked-{block.name}", line)


def resolve(state: StateCore) -> None:
    """Last rule: look up and check everything else, in reading order."""
    page: Page = state.env["page"]
    for index, token in enumerate(state.tokens):
        line = _line(page, token)
        if token.type == "inline":
            _inline(page, token, line)
        elif token.type == "heading_open":
            _heading(page, token, state.tokens[index + 1].content, line)
        elif token.type in ("fence", "code_block"):
            _code(page, token, line)
        elif token.type == "math_block":
            token.meta["html"] = _formula(page, token.content, line, display=True)
        elif token.type == "container_source_open":
            resolve_source(page, state.tokens, index)
        elif token.type == "container_kills_open":
            resolve_kills(page, token, line)
        elif token.type.startswith("container_") and token.nesting == 1:
            _container(page, token, line)


def _line(page: Page, token: Token) -> int:
    return page.first_line + (token.map[0] if token.map else 0)


def _heading(page: Page, token: Token, text: str, line: int) -> None:
    if token.tag not in ("h2", "h3"):
        what = f"a heading of level {token.tag[1]}"
        page.report(line, "heading", what, "use ## for sections and ### inside them; the title is in front matter")
    token.meta["id"] = page.claim(slug(text), line)


def _code(page: Page, token: Token, line: int) -> None:
    language = token.info.split()[0] if token.info.split() else ""
    if language == "worked":
        return
    if not language:
        page.report(line, "code-language", "code without a language", "name it after the fence: ```python")
    elif not known_language(language):
        page.report(line, "code-language", f"the language '{language}' is not known", "use a name Pygments knows")


def _container(page: Page, token: Token, line: int) -> None:
    kind = token.type.removeprefix("container_").removesuffix("_open")
    if kind not in CONTAINERS:
        return
    name = token.info.strip().removeprefix(kind).strip()
    if kind == "live":
        _live(page, token, name, line)
        return
    known = page.scope.figures if kind == "figure" else page.scope.listings
    used = page.figures if kind == "figure" else page.listings
    token.meta["name"] = name
    if name in page.scope.unfit:
        return
    if name not in known:
        folder = "figures" if kind == "figure" else "listings"
        page.report(line, kind, f"there is no {kind} '{name}'", f"add it to content/{folder} or mend the name")
    elif name in used:
        page.report(line, kind, f"the {kind} '{name}' stands twice in the page", "show it once and link to it")
    else:
        used.add(name)
        if kind == "figure":
            token.meta["html"] = _numbered(page, page.scope.figures[name], line)
        page.claim(f"{'fig' if kind == 'figure' else 'listing'}-{name}", line)


def _live(page: Page, token: Token, name: str, line: int) -> None:
    token.meta["name"] = name
    if name not in live_names():
        fix = f"use one of: {', '.join(sorted(live_names()))}"
        page.report(line, "figure", f"there is no live figure '{name}'", fix)
    else:
        page.claim(f"live-{name}", line)
        token.meta["html"] = live_html(name)


def _numbered(page: Page, figure: Figure, line: int) -> Markup:
    """The figure with its references replaced by the numbers that this page's worked blocks give."""
    return Markup(REFERENCE.sub(lambda match: str(escape(_number(page, match[1], line))), figure.html))  # noqa: S704


def _inline(page: Page, token: Token, line: int) -> None:
    children = token.children or []
    sourced = page.sourced or any(child.type == "citation" for child in children)
    for index, child in enumerate(children):
        if child.type in ("softbreak", "hardbreak"):
            line += 1
            page.words.append(" ")
        elif child.type in ("text", "code_inline"):
            page.words.append(child.content)
            if child.type == "text":
                _text(page, child.content, line, sourced)
        elif child.type == "math_inline":
            child.meta["html"] = _formula(page, child.content, line, display=False)
            _hold_punctuation(child, children[index + 1 : index + 2])
        elif child.type == "number":
            child.meta["text"] = _number(page, child.content, line)
            page.words.append(child.meta["text"])
        elif child.type == "citation":
            _citation(page, child, line)
        elif child.type == "link_open":
            _link(page, child, line)
        elif child.type == "image":
            page.report(line, "image", "an image in the text", "draw a figure: ::: figure name")
    page.words.append(" ")


def _hold_punctuation(formula: Token, following: list[Token]) -> None:
    """Move a comma or full stop behind a short formula into its token, so that no line begins with one."""
    if len(formula.content) > SHORT_FORMULA or not following or following[0].type != "text":
        return
    match = PUNCTUATION.match(following[0].content)
    if match:
        formula.meta["tail"] = match[0]
        following[0].content = following[0].content[match.end() :]


def _text(page: Page, text: str, line: int, sourced: bool) -> None:
    tag = TAG.search(text)
    if tag:
        page.report(line, "raw-html", f"raw HTML: {tag[0]}", "write Markdown; HTML is printed as text")
    if "{{" in text or "}}" in text:
        page.report(
            line, "number", "braces that are not a reference", "write {{block.name}} or {{listing/row/column}}"
        )
    if "](" in text:
        page.report(line, "link", "a link that is refused", "link to card:, question:, term:, … or https://")
    if sourced:
        return
    for match in NUMBER_WITH_UNIT.finditer(text):
        what = f"'{match[0].strip()}' comes from nowhere"
        page.report(line, "number", what, "take it from a worked block, {{block.name}}, or cite its source, [@id]")


def _formula(page: Page, tex: str, line: int, *, display: bool) -> Markup:
    try:
        return Markup(render_formula(tex, display=display, styles=page.styles))  # noqa: S704 - KaTeX escapes
    except FormulaError as error:
        page.report(line, "math", f"the formula does not parse: {error}", "mend the TeX")
        return Markup("<code>{}</code>").format(tex)


def _number(page: Page, written: str, line: int) -> str:
    reference = parse_reference(written)
    text = None
    if isinstance(reference, WorkedReference):
        text = _worked_number(page, reference, line)
    elif isinstance(reference, CellReference):
        listing = page.scope.listings.get(reference.listing)
        text = None if listing is None else listing.cell(reference.row, reference.column)
        page.quoted.add(reference.listing)
    if text is None and not _excused(page, reference):
        page.report(
            line, "number", f"nothing gives {{{{{written}}}}}", "name a worked block's row or a listing's cell"
        )
    return written if text is None else text


def _excused(page: Page, reference: WorkedReference | CellReference | None) -> bool:
    """Whether the block or listing that should give the number is reported already."""
    if isinstance(reference, WorkedReference):
        return reference.block in page.unfit
    return isinstance(reference, CellReference) and reference.listing in page.scope.unfit


def _worked_number(page: Page, reference: WorkedReference, line: int) -> str | None:
    block = page.worked.get(reference.block)
    row = None if block is None else block.row(reference.name)
    if row is None:
        return None
    try:
        unit = fitting_unit(row.quantity, reference.unit) if reference.unit else row.unit
    except (UnitError, ExpressionError) as error:
        page.report(line, "number", f"{reference.block}.{reference.name}: {error}", "choose a unit that fits")
        unit = row.unit
    decimals = row.decimals if reference.decimals is None else reference.decimals
    return quantity_text(row.quantity, unit, decimals).removeprefix("≈\N{NARROW NO-BREAK SPACE}")


def _citation(page: Page, token: Token, line: int) -> None:
    name = token.content
    if name not in page.sources:
        page.report(
            line, "citation", f"there is no source '{name}' on this page", "add it to sources in front matter"
        )
        return
    page.cited.add(name)
    token.meta["number"] = page.sources.index(name) + 1


def _link(page: Page, token: Token, line: int) -> None:
    target = str(token.attrs.get("href", ""))
    item = parse_link(target)
    if item is not None:
        link, anchor = item
        token.attrs["href"] = link.href + (f"#{anchor}" if anchor else "")
        page.mentions.append(Mention(page.file, line, link, anchor))
        if link not in page.scope.items:
            page.report(line, "link", f"there is no {link.kind.value} '{link.id}'", "mend the id or add the item")
        return
    scheme, _, name = target.partition(":")
    if scheme == "term" and name in page.scope.terms:
        token.attrs.update({"href": f"/glossary#term-{name}", "class": "term", "data-term": name})
        page.terms.add(name)
    elif scheme == "topic" and name in page.scope.topics:
        token.attrs["href"] = f"/topics/{name}"
    elif scheme == "tag" and name in page.scope.tags:
        token.attrs["href"] = f"/tags/{name}"
    elif scheme == "fault" and page.matrix and any(name == fault.name for fault in page.matrix.faults):
        token.attrs["href"] = f"#fault-{name}"
        page.mentions.append(Mention(page.file, line, SELF, f"fault-{name}"))
    elif target.startswith("#"):
        page.mentions.append(Mention(page.file, line, SELF, target[1:]))
    elif target.startswith("https://"):
        token.attrs["rel"] = "noopener"
    else:
        page.report(
            line, "link", f"the link '{target}' leads nowhere", "use card:, question:, term:, … or https://"
        )
