"""course.toml: the order of everything and the access policy, with the line of each entry for messages."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from app.course.models import Policy
from app.course.problems import Problem
from app.course.schema import CourseMeta, validate_data
from app.course.source import Loc, read_text

FILE = "course.toml"


class TomlLines:
    """Where an entry stands. TOML's reader keeps no lines, so the text is searched as it is written here."""

    def __init__(self, text: str) -> None:
        self._lines = text.split("\n")

    def of(self, loc: Loc) -> int:
        """The line of a location such as ("topics", 2, "cards"); the file's first when nothing matches."""
        start = 0
        words = list(loc)
        if len(words) >= 2 and words[0] == "topics" and isinstance(words[1], int):
            start = self._table("[[topics]]", words[1])
            words = words[2:]
        elif words:
            header = f"[{words[0]}]"
            found = self._table(header, 0)
            start, words = (found, words[1:]) if found else (0, words)
        for word in words:
            if isinstance(word, str):
                start = self._key(word, start)
        return start + 1

    def of_value(self, value: str) -> int:
        """The first line that holds a quoted value."""
        quoted = (f'"{value}"', f"'{value}'")
        return next((n for n, line in enumerate(self._lines, 1) if any(each in line for each in quoted)), 1)

    def _table(self, header: str, index: int) -> int:
        found = [number for number, line in enumerate(self._lines) if line.strip() == header]
        return found[index] if index < len(found) else 0

    def _key(self, key: str, start: int) -> int:
        pattern = re.compile(rf'\s*(?:\[\w+\.)?"?{re.escape(key)}"?\s*[=\]]')
        return next((n for n in range(start, len(self._lines)) if pattern.match(self._lines[n])), start)


def read_course(root: Path) -> tuple[CourseMeta | None, TomlLines, list[Problem]]:
    """Read course.toml under `root`."""
    path = root / FILE
    if not path.is_file():
        missing = Problem(FILE, 1, "course", "course.toml is missing", "add it: see README.md in this folder")
        return None, TomlLines(""), [missing]
    text, problem = read_text(path, root)
    if problem is not None:
        return None, TomlLines(""), [problem]
    lines = TomlLines(text)
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        match = re.search(r"line (\d+)", str(error))
        line = int(match[1]) if match else 1
        return None, lines, [Problem(FILE, line, "toml", f"TOML does not parse: {error}", "mend the syntax")]
    meta, problems = validate_data(CourseMeta, data, FILE, lines.of)
    return meta, lines, problems


def policy_of(meta: CourseMeta) -> Policy:
    """The access policy as frozen data."""
    access = meta.access
    return Policy(
        open_answers=access.open_answers,
        member_answers=access.member_answers,
        overrides=tuple(sorted(access.overrides.items())),
        drills_by_needs=access.drills_by_needs,
        drill_overrides=tuple(sorted(access.drills.items())),
    )
