"""Authored files as read from disk: YAML front matter with the line of every key, and the Markdown body.

Only this module knows how front matter is fenced. It never raises for what an author wrote: it reports.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from app.course.problems import Problem

FENCE = "---"
MAX_BYTES = 512 * 1024

Loc = tuple[int | str, ...]


@dataclass(frozen=True, slots=True)
class Document:
    """One authored file. `lines` maps a front matter path to its line; `body_line` is the body's first."""

    file: str
    id: str
    meta: dict[str, Any]
    lines: dict[Loc, int]
    body: str
    body_line: int
    problems: tuple[Problem, ...] = field(default=())

    def line_of(self, loc: Loc) -> int:
        """The line of a front matter value, or of the nearest enclosing one that has a line."""
        for length in range(len(loc), -1, -1):
            if loc[:length] in self.lines:
                return self.lines[loc[:length]]
        return 1


def read_document(path: Path, root: Path) -> Document:
    """Read one Markdown file under `root`. What is wrong with it comes back in `problems`."""
    file = path.relative_to(root).as_posix()
    text, problem = read_text(path, root)
    if problem is not None:
        return Document(file, path.stem, {}, {}, "", 1, (problem,))
    head, body, body_line = split_front_matter(text)
    if head is None:
        missing = Problem(file, 1, "front-matter", "the front matter is missing", "open the file with a --- block")
        return Document(file, path.stem, {}, {}, text, 1, (missing,))
    meta, lines, found = parse_yaml(head, file, first_line=2)
    return Document(file, path.stem, meta, lines, body, body_line, tuple(found))


def read_text(path: Path, root: Path) -> tuple[str, Problem | None]:
    """The file's text, or the reason why it has none."""
    file = path.relative_to(root).as_posix()
    data = path.read_bytes()
    if len(data) > MAX_BYTES:
        return "", Problem(file, 1, "size", f"the file has {len(data)} bytes", f"keep it under {MAX_BYTES}")
    try:
        return data.decode("utf-8").replace("\r\n", "\n"), None
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        return "", Problem(file, line, "utf-8", "the file is not UTF-8", "save it as UTF-8")


def split_front_matter(text: str) -> tuple[str | None, str, int]:
    """(front matter or None, body, line on which the body starts)."""
    lines = text.split("\n")
    if not lines or lines[0].rstrip() != FENCE:
        return None, text, 1
    for number, line in enumerate(lines[1:], start=1):
        if line.rstrip() == FENCE:
            return "\n".join(lines[1:number]), "\n".join(lines[number + 1 :]), number + 2
    return None, text, 1


def parse_yaml(text: str, file: str, first_line: int) -> tuple[dict[str, Any], dict[Loc, int], list[Problem]]:
    """A YAML mapping, the line of each of its values, and what is wrong with it (syntax, duplicate keys)."""
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        value = yaml.safe_load(text)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = first_line + (mark.line if mark else 0)
        return {}, {}, [Problem(file, line, "yaml", f"YAML does not parse: {error.problem}", "mend the syntax")]
    except yaml.YAMLError as error:  # unprintable characters and the like carry no mark
        what = str(error).splitlines()[0]
        return {}, {}, [Problem(file, first_line, "yaml", f"YAML does not parse: {what}", "mend the syntax")]
    if not isinstance(node, yaml.MappingNode) or not isinstance(value, dict):
        what = "the front matter is not a mapping"
        return {}, {}, [Problem(file, first_line, "yaml", what, "write key: value lines")]
    lines: dict[Loc, int] = {(): first_line}
    problems: list[Problem] = []
    _walk(node, (), first_line, file, lines, problems)
    return value, lines, problems


def _walk(
    node: yaml.Node, loc: Loc, first_line: int, file: str, lines: dict[Loc, int], problems: list[Problem]
) -> None:
    if isinstance(node, yaml.MappingNode):
        seen: set[Hashable] = set()
        for key, child in node.value:
            line = first_line + key.start_mark.line
            if key.value in seen:
                problems.append(
                    Problem(file, line, "duplicate-key", f"the key '{key.value}' stands twice", "keep one of them")
                )
            seen.add(key.value)
            lines[(*loc, key.value)] = line
            _walk(child, (*loc, key.value), first_line, file, lines, problems)
    elif isinstance(node, yaml.SequenceNode):
        for index, child in enumerate(node.value):
            lines[(*loc, index)] = first_line + child.start_mark.line
            _walk(child, (*loc, index), first_line, file, lines, problems)
