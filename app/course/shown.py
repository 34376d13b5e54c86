"""What an editorial shows of files, checked between parsing and printing: `::: source` and `::: kills`."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from markdown_it.token import Token

from app.course.excerpts import ExcerptError, quotes_in
from app.course.scope import Page


def resolve_source(page: Page, tokens: Sequence[Token], start: int) -> None:
    """Read the code that the container at `start` shows, and find the line of each quote in what it holds."""
    token, inside = tokens[start], tokens[start : _end(tokens, start)]
    line = _line(page, token)
    file, _, name = token.info.strip().removeprefix("source").strip().partition(" ")
    if page.shelf is None:
        page.report(line, "source", "code of a file outside an editorial", "write it out, or show a listing")
        return
    try:
        excerpt = page.shelf.excerpt(file, name.strip())
    except ExcerptError as error:
        page.report(line, "source", error.what, error.to_do)
        return
    page.excerpts.append(excerpt)
    excerpt.anchor = page.claim(f"code-{len(page.excerpts)}", line)
    token.meta["excerpt"] = excerpt
    for before, each in pairwise(inside):
        if (before.type, each.type) == ("dd_close", "dd_open"):
            what = "a second explanation of one line: its term hangs on the text above"
            page.report(_line(page, each), "source", what, "leave a line blank before the term")
    for term, quote in quotes_in(inside):
        number = excerpt.find(quote.content)
        if number is None:
            what = f"no line of {f'{file} {name}'.strip()} holds '{quote.content}'"
            page.report(_line(page, term), "source", what, "quote a line as it stands in the file now")
        else:
            quote.meta["line"] = (excerpt, number)


def resolve_kills(page: Page, token: Token, line: int) -> None:
    """Check the faults that a matrix is to be drawn of; all of them when none is named."""
    names = token.info.strip().removeprefix("kills").split()
    if page.matrix is None:
        page.report(line, "kills", "no kill matrix to draw", "store it: tilewright check drills DRILL --write")
        return
    known = [fault.name for fault in page.matrix.faults]
    for name in names:
        if name not in known:
            page.report(line, "kills", f"there is no fault '{name}' in the kill matrix", f"name {', '.join(known)}")
    token.meta["names"] = names
    if not names:
        for name in known:
            page.claim(f"fault-{name}", line)


def _end(tokens: Sequence[Token], start: int) -> int:
    """Where the container that opens at `start` closes."""
    level = tokens[start].level
    return next(n for n in range(start + 1, len(tokens)) if tokens[n].nesting == -1 and tokens[n].level == level)


def _line(page: Page, token: Token) -> int:
    return page.first_line + (token.map[0] if token.map else 0)
