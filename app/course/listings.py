"""Listings: small programs kept beside the text, with the table that each printed.

`content/listings/<name>.py` prints CSV; `<name>.csv` is what it printed. A test runs every program again and
compares, so a table in the text is never typed by hand.
"""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup

from app.course.problems import Problem
from app.course.render import highlight_code
from app.course.source import read_text


@dataclass(frozen=True, slots=True)
class Listing:
    """A program and its table. The first column names the rows."""

    name: str
    program: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def cell(self, row: str, column: str) -> str | None:
        """The text of one cell, or None when the row or the column does not exist."""
        if column not in self.header:
            return None
        found = next((cells for cells in self.rows if cells[0] == row), None)
        return None if found is None else found[self.header.index(column)]


def read_listing(path: Path, root: Path) -> tuple[Listing | None, list[Problem]]:
    """Read `<name>.py` and the table beside it."""
    file = path.relative_to(root).as_posix()
    table = path.with_suffix(".csv")
    if not table.exists():
        fix = f"run it and keep what it prints in {table.name}"
        return None, [Problem(file, 1, "listing", f"{table.name} is missing", fix)]
    program, problem = read_text(path, root)
    printed, other = read_text(table, root)
    problems = [each for each in (problem, other) if each is not None]
    if problems:
        return None, problems
    rows = [tuple(row) for row in csv.reader(io.StringIO(printed))]
    if len(rows) < 2 or len({len(row) for row in rows}) != 1:
        what = f"{table.name} is not a table with a header"
        return None, [Problem(file, 1, "listing", what, "print one header line and rows of the same length")]
    return Listing(path.stem, program, rows[0], tuple(rows[1:])), []


def table_html(listing: Listing) -> Markup:
    """The table, and the program that printed it folded away below."""
    head = Markup("").join(Markup('<th scope="col">{}</th>').format(cell) for cell in listing.header)
    body = Markup("").join(_row(row) for row in listing.rows)
    code = Markup(highlight_code(listing.program, "python"))  # noqa: S704 - Pygments escapes
    return Markup(
        '<div class="table-scroll" tabindex="0"><table class="plain">'
        "<thead><tr>{}</tr></thead><tbody>{}</tbody></table></div>"
        "<details><summary>The program that printed this table</summary>{}</details>"
    ).format(head, body, code)


def _row(cells: tuple[str, ...]) -> Markup:
    rest = Markup("").join(Markup('<td class="number">{}</td>').format(cell) for cell in cells[1:])
    return Markup('<tr><th scope="row">{}</th>{}</tr>').format(cells[0], rest)
