"""What the course reads of the drills: the part of each drill.toml that lists and links it.

The grader checks a drill in depth (`grader.drill`); the course only needs to name it, and does not fail over one
that is unfinished. Which cards and questions a drill serves is written in the drill's file and nowhere else.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from app.course.models import DrillRef, Level


class DrillFacts(BaseModel):
    """The keys that a list of drills shows. The file has more, which are the grader's."""

    model_config = ConfigDict(extra="ignore")

    title: str
    summary: str
    kind: str
    level: Level
    topic: str
    minutes: int
    tags: list[str] = []
    cards: list[str] = []
    questions: list[str] = []
    needs: list[str] = []


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""


def read_drills(folder: Path) -> Mapping[str, DrillRef]:
    """The drills in `folder`, by id. One whose drill.toml cannot be read is skipped."""
    found = {}
    for path in sorted(folder.glob("*/drill.toml")):
        try:
            facts = DrillFacts.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError, ValidationError):
            continue
        found[path.parent.name] = DrillRef(
            id=path.parent.name,
            title=facts.title,
            summary=facts.summary,
            kind=facts.kind,
            level=facts.level,
            topic=facts.topic,
            minutes=facts.minutes,
            tags=tuple(facts.tags),
            cards=tuple(facts.cards),
            questions=tuple(facts.questions),
            statement=_text(path.parent / "statement.md"),
            editorial=_text(path.parent / "editorial.md"),
            folder=path.parent,
            needs=tuple(facts.needs),
        )
    return found
