"""Every worked number of the course on one page: what `tilewright check content --numbers` prints."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from app.course.snapshot import Snapshot
from app.course.worked import Row, Worked

FOLDERS = ("concepts/", "questions/", "tracks/")
HEAD = """# Worked numbers

Every number that the course works out, with what it comes from. `tilewright check content --numbers` prints this
page, and a test compares the two.
"""


def numbers_table(snapshot: Snapshot) -> str:
    """Markdown: a section a page, a table a block, in the order of the files' names."""
    files = sorted(file for file in snapshot.worked if file.startswith(FOLDERS))
    lines = [HEAD]
    for file in files:
        lines.append(f"## {file}\n")
        lines.extend(line for block in snapshot.worked[file] for line in _block(block))
    blocks = [block for file in files for block in snapshot.worked[file]]
    rows = sum(len(block.rows) for block in blocks)
    lines.append(f"{len(blocks)} blocks, {rows} numbers.")
    return "\n".join(lines) + "\n"


def _block(block: Worked) -> Iterator[str]:
    yield f"**{_cell(block.title)}** (`{block.name}`)\n"
    yield "| Number | From | Value |\n|---|---|---|"
    yield from (_row(row) for row in block.rows)
    yield ""


def _row(row: Row) -> str:
    how = "given" if row.formula is None else f"`{row.name} = {ast.unparse(row.formula)}`"
    name = f"`{row.name}`: {row.label}" if row.formula is None else row.label
    return f"| {_cell(name)} | {how} | {row.text} |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
