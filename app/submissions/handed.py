"""What somebody hands in, and whether it can be graded at all: pure checks, each with its sentence."""

from __future__ import annotations

import re
from dataclasses import dataclass

from app.settings import Settings
from grader.drill import Drill

TOKEN = re.compile(r"[A-Za-z0-9_-]{8,64}")


@dataclass(frozen=True)
class Handed:
    """What somebody hands in. A visitor has no `user`, and can only try; `visitor` is the hash of their cookie."""

    user: str | None
    drill: str
    lane: str
    source: str
    token: str
    trial: bool = False  # the visible cases only; no attempt
    visitor: str | None = None
    mode: str = ""  # how they expect the first run to fail: a key of `predictions.MODES`, or nothing
    words: str = ""  # their own line about it


def problems_of(handed: Handed, drill: Drill, settings: Settings) -> dict[str, str]:
    """Why this cannot be graded, by field of the form; empty when it can."""
    problems = {}
    if handed.lane not in drill.lanes:
        problems["lane"] = "This drill does not run in that lane. Choose another one."
    source = source_problem(handed.source, settings.source_limit)
    if source:
        problems["source"] = source
    return problems


def source_problem(source: str, limit: int) -> str:
    """What is wrong with a source as text, or nothing. `limit` is in bytes of UTF-8."""
    if any(0xD800 <= ord(character) <= 0xDFFF for character in source):
        return "The file holds half of a character pair (a lone surrogate), which is not text. Remove it."
    if "\0" in source:
        line = source[: source.index("\0")].count("\n") + 1
        return f"Line {line} holds a NUL byte, which Python refuses. Remove it."
    if not source.strip():
        return "There is no code here yet."
    size = len(source.encode())
    if size > limit:
        return f"The file has {size:,} bytes; at most {limit:,} are graded. Shorten it."
    return ""
