"""What the publication gate found, as one page that needs nothing beside it: no script, no other file.

Reading order: `write` → `page` → `_drill` → `_row` (a mutant) → `_cell` (a case of it).
"""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from app.templating import STATIC, TEMPLATES
from grader.check import Checked, margin
from grader.judge import Judged
from grader.specimens import Ran
from grader.verdict import Outcome

FILE = "index.html"
MARKS = {
    Outcome.WRONG_ANSWER: "W",
    Outcome.RULE_BROKEN: "R",
    Outcome.RUNTIME_ERROR: "E",
    Outcome.COMPILE_ERROR: "C",
    Outcome.TIME_LIMIT: "T",
    Outcome.OUT_OF_MEMORY: "M",
    Outcome.OUTPUT_LIMIT: "O",
    Outcome.GRADER_PROBLEM: "!",
}


@dataclass(frozen=True)
class Cell:
    """A case of a mutant: a letter for what killed it, and the words; a dot where it was accepted."""

    mark: str
    words: str
    kind: str  # killed | passed | not-run


@dataclass(frozen=True)
class Column:
    """A case."""

    name: str
    hidden: bool
    control: bool


@dataclass(frozen=True)
class Row:
    """A mutant, or the starter."""

    name: str
    what: str
    outcome: str
    expected: bool
    killed: str
    cells: tuple[Cell, ...]
    seconds: float


@dataclass(frozen=True)
class Correct:
    """A correct kernel and how much of the tolerance it needs."""

    name: str
    outcome: str
    accepted: bool
    worst: float
    seconds: float


@dataclass(frozen=True)
class Drill:
    """One drill's part of the page."""

    id: str
    title: str
    framework: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    correct: tuple[Correct, ...]
    allowed: float
    mutants: int
    killed: int
    passed: int
    problems: tuple[str, ...]
    seconds: float


@dataclass(frozen=True)
class Page:
    """The whole report."""

    drills: tuple[Drill, ...]
    made: str
    style: str
    marks: tuple[tuple[str, str], ...]


def write(folder: Path, checked: Sequence[Checked]) -> Path:
    """Write the report into `folder`, which is made if need be; where it is."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / FILE
    path.write_text(page(checked), encoding="utf-8")
    return path


def page(checked: Sequence[Checked]) -> str:
    """The page as text."""
    environment = Environment(loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined)
    context = Page(
        tuple(map(_drill, checked)),
        datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        _style(),
        tuple((mark, outcome.value.replace("_", " ")) for outcome, mark in MARKS.items()),
    )
    return environment.get_template("gate.html").render(page=context)


def _drill(one: Checked) -> Drill:
    control = set(one.matrix.control) if one.matrix else set()
    return Drill(
        id=one.drill.id,
        title=one.drill.title,
        framework=one.drill.framework,
        columns=tuple(Column(name, name in one.hidden, name in control) for name in one.cases),
        rows=tuple(_row(one, ran) for ran in (*one.of("starter"), *one.of("mutant"))),
        correct=tuple(map(_correct, one.of("correct"))),
        allowed=margin(one.drill),
        mutants=len(one.of("mutant")),
        killed=one.killed,
        passed=one.passed,
        problems=tuple(map(str, one.problems)),
        seconds=one.seconds,
    )


def _row(one: Checked, ran: Ran) -> Row:
    outcome = ran.verdict.outcome
    judged = {result.case.name: result for result in ran.judged}
    starter = ran.specimen.kind == "starter"
    return Row(
        name=ran.specimen.name,
        what=ran.specimen.what,
        outcome=outcome.value.replace("_", " "),
        expected=outcome is not Outcome.ACCEPTED if starter else outcome in ran.specimen.expect,
        killed=f"{len(ran.killed_by)} of {len(one.hidden)}",
        cells=tuple(_cell(judged.get(name)) for name in one.cases),
        seconds=_seconds(ran),
    )


def _cell(judged: Judged | None) -> Cell:
    if judged is None:
        return Cell("", "not run", "not-run")
    if judged.accepted:
        return Cell("·", "accepted", "passed")
    outcome = judged.result.outcome
    return Cell(MARKS[outcome], f"{outcome.value.replace('_', ' ')}: {judged.result.detail}"[:300], "killed")


def _correct(ran: Ran) -> Correct:
    outcome = ran.verdict.outcome
    return Correct(
        ran.specimen.name, outcome.value.replace("_", " "), outcome is Outcome.ACCEPTED, ran.worst, _seconds(ran)
    )


def _seconds(ran: Ran) -> float:
    return ran.verdict.timings.run + ran.verdict.timings.judge


def _style() -> str:
    """The product's tokens with its faces inside, and what this page adds."""
    tokens = (STATIC / "css" / "tokens.css").read_text(encoding="utf-8")
    return re.sub(r'url\("\.\./vendor/([\w.-]+\.woff2)"\)', _face, tokens)


def _face(found: re.Match[str]) -> str:
    data = base64.b64encode((STATIC / "vendor" / found[1]).read_bytes()).decode("ascii")
    return f"url(data:font/woff2;base64,{data})"
