"""The files of a drill whose verdict is known beforehand, and how the gate saw them end."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from pathlib import Path

from grader import hints
from grader.drill import Drill, Problem
from grader.judge import Judged
from grader.verdict import Outcome, Verdict

LEAST_CORRECT = 3
LEAST_MUTANTS = 3


@dataclass(frozen=True)
class Specimen:
    """A file whose verdict is known: the starter, a mutant or a correct kernel."""

    kind: str  # starter, mutant or correct
    path: Path
    what: str = ""
    ask: str = ""
    expect: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return self.path.stem


@dataclass(frozen=True)
class Ran:
    """A specimen and how it was graded."""

    specimen: Specimen
    verdict: Verdict
    judged: tuple[Judged, ...]
    signature: hints.Signature | None
    seconds: float

    @property
    def killed_by(self) -> tuple[str, ...]:
        """The hidden cases that did not accept it."""
        return tuple(one.case.name for one in self.judged if not one.accepted and not one.case.visible)

    @property
    def worst(self) -> float:
        """The largest error of an accepted kernel, in units of tolerance."""
        return max((one.result.error or 0.0 for one in self.judged), default=0.0)


def read_specimens(drill: Drill) -> tuple[list[Specimen], list[Problem]]:
    """The starter, the mutants and the correct kernels of a drill, with what their docstrings promise."""
    problems = []
    specimens = [Specimen("starter", drill.folder / "starter.py")]
    for path in sorted((drill.folder / "correct").glob("*.py")):
        specimens.append(Specimen("correct", path))
    for path in sorted((drill.folder / "mutants").glob("*.py")):
        specimen, found = read_mutant(path, drill.id)
        specimens.append(specimen)
        problems += found
    for kind, least in (("correct", LEAST_CORRECT), ("mutant", LEAST_MUTANTS)):
        have = sum(specimen.kind == kind for specimen in specimens)
        if have < least:
            problems.append(Problem(drill.id, None, f"{have} files of kind {kind}", f"write at least {least}"))
    return specimens, problems


def read_mutant(path: Path, drill: str) -> tuple[Specimen, list[Problem]]:
    """A mutant with its `ask:` and `expect:` lines. Several outcomes may be expected, separated by ``|``."""
    label = f"{drill}/mutants/{path.name}"
    problems = []
    try:
        text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    except SyntaxError as error:
        return Specimen("mutant", path), [Problem(label, error.lineno, "is not Python", "mend it")]
    ask = re.search(r"^ask: (.+\?)$", text, re.MULTILINE)
    expect = re.search(r"^expect: (.+)\Z", text, re.MULTILINE)
    if ask is None:
        problems.append(
            Problem(label, None, "no `ask:` line that ends as a question", "write the question it teaches")
        )
    outcomes = tuple(part.strip() for part in expect.group(1).split("|")) if expect else ()
    known = {outcome.value for outcome in Outcome} - {Outcome.ACCEPTED, Outcome.GRADER_PROBLEM}
    if not outcomes or not set(outcomes) <= known:
        to_do = f"end the docstring with `expect: ` and one of {', '.join(sorted(known))}"
        problems.append(Problem(label, None, "no `expect:` line with known outcomes", to_do))
    what = text.split("\n\n")[0].replace("\n", " ").strip()
    return Specimen("mutant", path, what, ask.group(1) if ask else "", outcomes), problems
