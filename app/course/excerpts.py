"""Code shown in an editorial is read from the file that runs, so that it cannot drift from it.

`::: source kernels/row_softmax.py online` shows one function (or class, or constant) of a file, or the whole file
when none is named. In what the block holds, a definition list explains it line by line: each term quotes a line in
backticks, and the quote must be there. Files are read as text; nothing of them is imported.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from markdown_it.token import Token
from markupsafe import Markup

from app.course.render import highlight_code

OWN = re.compile(r"(reference|starter|suite)\.py|(correct|mutants|measured)/[a-z][a-z0-9_]*\.py")
KERNEL = re.compile(r"kernels/[a-z][a-z0-9_]*\.py")
LINES = re.compile(r"(?<=<code>).*(?=</code>)", re.DOTALL)


class ExcerptError(Exception):
    """What was asked for is not there: `what` is wrong, and what `to_do`."""

    def __init__(self, what: str, to_do: str) -> None:
        self.what, self.to_do = what, to_do
        super().__init__(f"{what}; {to_do}")


@dataclass(slots=True)
class Excerpt:
    """Lines of a file. `anchor` is its place in the page; `at` is the line (from 1) that was quoted last."""

    file: str
    name: str
    lines: tuple[str, ...]
    anchor: str = ""
    at: int = field(default=0)

    def find(self, quote: str) -> int | None:
        """The line that holds `quote`, the next one after the last quote first; None when no line does."""
        wanted = " ".join(quote.split())
        order = [*range(self.at, len(self.lines)), *range(self.at)]
        found = next((n for n in order if wanted in " ".join(self.lines[n].split())), None)
        if found is None:
            return None
        self.at = found + 1
        return self.at


@dataclass(frozen=True, slots=True)
class Shelf:
    """Where the editorial of one drill may read: its own files and the reference kernels."""

    drill: Path
    kernels: Path

    def excerpt(self, file: str, name: str) -> Excerpt:
        """`file` whole, or its definition of `name`. Raises `ExcerptError`."""
        if not (OWN.fullmatch(file) or KERNEL.fullmatch(file)):
            what = f"'{file}' is not a file that an editorial shows"
            raise ExcerptError(what, "name reference.py, correct/….py, mutants/….py or kernels/….py")
        path = self.kernels.parent / file if KERNEL.fullmatch(file) else self.drill / file
        try:
            text = path.read_text(encoding="utf-8")
            tree = ast.parse(text)
        except (OSError, UnicodeDecodeError, SyntaxError):
            raise ExcerptError(f"'{file}' is not there or is not Python", "mend the name") from None
        lines = text.splitlines()
        if not name:
            return Excerpt(file, "", tuple(lines[_after_docstring(tree) :]))
        places = {each: node for node in tree.body for each in _names(node)}
        if name not in places:
            known = ", ".join(places) or "nothing"
            raise ExcerptError(f"{file} defines no '{name}'", f"it defines {known}")
        return Excerpt(file, name, tuple(lines[_first_line(places[name]) - 1 : places[name].end_lineno]))


def _after_docstring(tree: ast.Module) -> int:
    """How many lines the docstring takes, with the blank lines below it."""
    if not tree.body or ast.get_docstring(tree) is None:
        return 0
    return _first_line(tree.body[1]) - 1 if len(tree.body) > 1 else tree.body[0].end_lineno or 0


def _names(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else []
    targets = [node.target] if isinstance(node, ast.AnnAssign) else targets
    return [target.id for target in targets if isinstance(target, ast.Name)]


def _first_line(node: ast.stmt) -> int:
    decorators = node.decorator_list if isinstance(node, ast.FunctionDef | ast.ClassDef) else []
    return min([node.lineno, *(each.lineno for each in decorators)])


def excerpt_html(excerpt: Excerpt) -> Markup:
    """The code with an anchor for every line; the numbers are drawn by the stylesheet."""
    code = LINES.search(highlight_code("\n".join(excerpt.lines) + "\n", "python"))
    lines = code[0].splitlines() if code else []
    body = Markup("\n").join(
        Markup('<span class="line" id="{}-l{}">{}</span>').format(excerpt.anchor, number, Markup(line))  # noqa: S704
        for number, line in enumerate(lines, start=1)
    )
    where = f"{excerpt.file} · {excerpt.name}" if excerpt.name else excerpt.file
    return Markup(
        '<div class="excerpt" id="{}"><p class="excerpt-file">{}</p>'
        '<pre class="code numbered" tabindex="0" data-language="python" aria-label="{}"><code>{}</code></pre>'
    ).format(excerpt.anchor, where, where, body)


def quotes_in(tokens: Sequence[Token]) -> list[tuple[Token, Token]]:
    """The quotes of lines in what a block holds, each with its term: code in the terms of definition lists."""
    return [
        (token, child)
        for before, token in pairwise(tokens)
        if before.type == "dt_open"
        for child in token.children or []
        if child.type == "code_inline"
    ]
