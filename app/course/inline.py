"""The two inline signs that authored Markdown adds: a number's reference and a citation.

{{score_bytes.total GiB .1}}   a number of a worked block, in another unit, with one decimal
{{drift/8000/no rescale}}      a cell of a listing's table: row, column
[@dao2022]                     a primary source of this page
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline

REFERENCE = re.compile(r"\{\{\s*([^{}\n]{1,120}?)\s*\}\}")
CITATION = re.compile(r"\[@([a-z0-9][a-z0-9_-]*)\]")
WORKED = re.compile(r"(?P<block>[a-z0-9_]+)\.(?P<name>\w+)(?:\s+(?P<unit>[^\s.]+))?(?:\s+\.(?P<decimals>\d))?")
CELL = re.compile(r"(?P<listing>[a-z0-9_]+)/(?P<row>[^/]+)/(?P<column>[^/]+)")


@dataclass(frozen=True, slots=True)
class WorkedReference:
    block: str
    name: str
    unit: str
    decimals: int | None


@dataclass(frozen=True, slots=True)
class CellReference:
    listing: str
    row: str
    column: str


def parse_reference(text: str) -> WorkedReference | CellReference | None:
    """What stands between the braces, or None when it is neither form."""
    match = WORKED.fullmatch(text)
    if match:
        decimals = None if match["decimals"] is None else int(match["decimals"])
        return WorkedReference(match["block"], match["name"], match["unit"] or "", decimals)
    match = CELL.fullmatch(text)
    return CellReference(match["listing"], match["row"], match["column"]) if match else None


def signs_plugin(parser: MarkdownIt) -> None:
    """Adds the tokens `number` and `citation`; `content` is what the sign holds."""
    parser.inline.ruler.before("escape", "number", _rule("number", REFERENCE, "{"))
    parser.inline.ruler.before("link", "citation", _rule("citation", CITATION, "["))


def _rule(kind: str, pattern: re.Pattern[str], opening: str) -> Callable[[StateInline, bool], bool]:
    def rule(state: StateInline, silent: bool) -> bool:
        if state.src[state.pos] != opening:
            return False
        match = pattern.match(state.src, state.pos)
        if match is None:
            return False
        if not silent:
            token = state.push(kind, "", 0)
            token.content = match[1]
        state.pos = match.end()
        return True

    return rule
