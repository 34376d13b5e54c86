"""The publication gate: a drill that does not pass it is not published. `python -m grader.check [drill …]`

First what NumPy alone can see (`grader.soundness`), then real runs: the starter is refused, every mutant ends as
its docstring expects and is killed by a hidden case, correct kernels of other construction pass with a margin of
ten. What the mutants showed is stored as the drill's kill matrix, which hints are matched with.

Reading order: `check` → `check_drill` → `_run` (one file) → `_complaints` → `build_matrix`.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import re
import statistics
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import msgspec

from grader import hints
from grader.abilities import computes
from grader.drill import Drill, Problem, read_drills
from grader.grade import Grading
from grader.judge import Judged
from grader.nursery import Nursery
from grader.pool import Pool, SandboxUnavailable
from grader.soundness import SEED, unsound
from grader.suite import Answers, BrokenDrill, Remembered, load_answers
from grader.verdict import Decided, Lane, Outcome, Verdict

MARGIN = 0.1  # correct kernels may use a tenth of the tolerance
STATED_MARGIN = 0.8
SLACK = 0.005  # and the least exact of them should use this much of it, or it is too wide
LEAST_CORRECT = 3
LEAST_MUTANTS = 3
SUITE_SECONDS = 5.0  # for the median correct kernel, on a machine that does nothing else
WORKERS = 2

Say = Callable[[str], None]


def _print(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


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


def check(
    folder: Path, ids: Sequence[str] = (), *, write: bool = False, say: Say = _print, pool: Pool | None = None
) -> list[Problem]:
    """Check the drills of `folder` (all, or those named) and report on `say`. Returns every problem found.

    `write` stores the kill matrices anew instead of complaining that they are out of date.
    """
    drills, problems = read_drills(folder)
    problems += [
        Problem(name, None, "is not a drill", f"known are {', '.join(drills) or 'none'}")
        for name in ids
        if name not in drills
    ]
    chosen = [drill for drill in drills.values() if not ids or drill.id in ids]
    try:
        with Pools() as pools:
            for drill in chosen:
                problems += check_drill(drill, pools.of if pool is None else (lambda _: pool), write=write, say=say)
    except SandboxUnavailable as error:
        problems.append(Problem(str(folder), None, f"no sandbox: {error}", "see `tilewright doctor`"))
    for problem in problems:
        say(f"  ✗ {problem}")
    say(f"{len(chosen)} drills, {len(problems)} problems")
    return problems


class Pools:
    """Warm runners with no more in them than a file needs: importing PyTorch is what makes them slow to start."""

    def __init__(self) -> None:
        self._open: dict[str, Pool] = {}
        self._stack = ExitStack()
        self._lock = threading.Lock()

    def __enter__(self) -> Pools:
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def of(self, drill: Drill) -> Pool:
        """The pool for the framework of `drill`. Usable from several threads."""
        with self._lock:
            if drill.framework not in self._open:
                pool = Nursery(Lane.CPU, size=WORKERS, framework=drill.framework)
                self._open[drill.framework] = self._stack.enter_context(pool)
            return self._open[drill.framework]


def check_drill(drill: Drill, pool_for: Callable[[Drill], Pool], *, write: bool, say: Say) -> list[Problem]:
    """The whole gate for one drill. A file may choose another framework, and gets runners for it."""
    say(f"{drill.id}: {drill.title}")
    try:
        answers = load_answers(drill)
    except BrokenDrill as error:
        return [Problem(f"{drill.id}/suite.py", None, str(error), "mend it")]
    problems = unsound(drill, answers)
    count = len(answers.suite.cases) + len(answers.suite.around(()))
    say(f"  suite      {count} cases, {'sound' if not problems else f'{len(problems)} problems'}")
    specimens, found = read_specimens(drill)
    problems += found
    runs: list[Ran] = []
    known = Remembered(answers)
    with ThreadPoolExecutor(WORKERS) as threads:
        for ran in threads.map(lambda specimen: _run(drill, specimen, pool_for, known), specimens):
            runs.append(ran)
            problems += _complaints(drill, ran)
            say(_row(ran))
    problems += slow(drill, runs)
    problems += slack(drill, [ran.worst for ran in runs if ran.specimen.kind == "correct"])
    if any(ran.verdict.outcome is Outcome.GRADER_PROBLEM for ran in runs):
        return problems  # a matrix of half the runs would be stored as if it were whole
    return [*problems, *_stored(drill, runs, write=write, say=say)]


# The specimens.


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


# The runs.


def _run(
    drill: Drill, specimen: Specimen, pool_for: Callable[[Drill], Pool], answers: Answers | None = None
) -> Ran:
    """Grade one file as a submission, with a seed that never changes, so that the matrix can be compared."""
    started = time.perf_counter()
    source = specimen.path.read_text(encoding="utf-8")
    grading = Grading(drill, source, Lane.CPU, pool_for(drill.written_for(source)), SEED)
    grading.answers = answers
    grading.patience = 60.0  # the matrix must hold what the probes show, also on a busy machine
    *_, last = grading.events()
    if not isinstance(last, Decided):
        raise AssertionError("grading ends with a verdict")
    return Ran(specimen, last.verdict, tuple(grading.judged), grading.signature, time.perf_counter() - started)


def _complaints(drill: Drill, ran: Ran) -> Iterator[Problem]:
    """What is wrong with the verdict of one specimen."""
    specimen, outcome = ran.specimen, ran.verdict.outcome
    label = f"{drill.id}/{specimen.path.relative_to(drill.folder)}"
    if outcome is Outcome.GRADER_PROBLEM:
        yield Problem(label, None, f"grader problem: {ran.verdict.problem}", "mend the suite or the grader")
    elif specimen.kind == "starter" and outcome is Outcome.ACCEPTED:
        yield Problem(label, None, "the starter is accepted", "take the solution out of it")
    elif specimen.kind == "correct" and outcome is not Outcome.ACCEPTED:
        yield Problem(
            label, None, f"a correct kernel is refused: {_first_failure(ran)}", "mend the suite or the kernel"
        )
    elif specimen.kind == "correct" and not ran.worst <= margin(drill):
        what = f"a correct kernel errs by {ran.worst:.2g} of the tolerance, more than {margin(drill):g}"
        yield Problem(label, None, what, "loosen the tolerance, with its reason, or mend the kernel")
    elif specimen.kind == "mutant" and outcome not in specimen.expect:
        what = f"ends as {outcome.value}, not {' or '.join(specimen.expect)}"
        yield Problem(label, None, what, "add a case that shows the fault, or mend the expectation")
    elif specimen.kind == "mutant" and not ran.killed_by and not load_answers(drill).suite.public:
        yield Problem(label, None, "no hidden case kills it", "add one: visible cases can be fitted to")


def margin(drill: Drill) -> float:
    """How much of the tolerance a correct kernel may use: more where the statement, not rounding, gives it."""
    return STATED_MARGIN if "slack_tolerance" in drill.excused else MARGIN


def _first_failure(ran: Ran) -> str:
    first = next((one for one in ran.judged if not one.accepted), None)
    if first is None:
        return ran.verdict.sentence
    return f"{first.case.name}: {first.result.outcome.value}, {first.result.detail}"


def slack(drill: Drill, worst: Sequence[float]) -> list[Problem]:
    """A tolerance far above the error of every correct kernel would take in wrong ones too."""
    if not worst or max(worst) >= SLACK or "slack_tolerance" in drill.excused:
        return []
    what = f"no correct kernel errs by more than {max(worst):.2g} of the tolerance: it is slack"
    return [Problem(f"{drill.id}/suite.py", None, what, "tighten it to ten times what correct kernels need")]


def slow(drill: Drill, runs: Sequence[Ran]) -> list[Problem]:
    seconds = [
        ran.verdict.timings.run + ran.verdict.timings.judge for ran in runs if ran.specimen.kind == "correct"
    ]
    if seconds and statistics.median(seconds) > SUITE_SECONDS:
        what = f"the suite takes {statistics.median(seconds):.1f} s for the median correct kernel"
        return [
            Problem(f"{drill.id}/suite.py", None, what, f"stay under {SUITE_SECONDS:g} s: fewer rows, fewer tiles")
        ]
    return []


def _row(ran: Ran) -> str:
    """One line of the report."""
    specimen, outcome = ran.specimen, ran.verdict.outcome
    if specimen.kind == "correct":
        note = f"largest error {ran.worst:.3f} of the tolerance"
    else:
        note = f"killed by {len(ran.killed_by)} hidden cases"
    time_ = f"{ran.verdict.timings.run + ran.verdict.timings.judge:5.2f} s"
    return f"  {specimen.kind:<8}   {specimen.name:<26} {outcome.value:<14} {time_}  {note}"


# The kill matrix.


def _stored(drill: Drill, runs: Sequence[Ran], *, write: bool, say: Say) -> list[Problem]:
    """Compare the matrix with the stored one, or store it."""
    fresh = build_matrix(drill, runs)
    path = drill.folder / hints.FILE
    say(f"  matrix     {len(fresh.faults)} faults × {len(fresh.cases)} cases, {len(fresh.control)} of them control")
    if write:
        path.write_bytes(msgspec.json.format(msgspec.json.encode(fresh), indent=1) + b"\n")
        return []
    old = hints.load_matrix(drill.folder)
    if old is None or _kills(old) != _kills(fresh):
        what = "is missing or can't be read" if old is None else f"is out of date: {_difference(old, fresh)}"
        return [
            Problem(f"{drill.id}/{hints.FILE}", None, what, "run `tilewright check drills --write`, look, commit")
        ]
    return []


def build_matrix(drill: Drill, runs: Sequence[Ran]) -> hints.KillMatrix:
    """The kill matrix of these runs. Cases that another lane runs are not in it."""
    suite = load_answers(drill).suite
    ordered = (*suite.cases, *suite.around(()))
    cases = tuple(case.name for case in ordered if computes(Lane.CPU, case.dtype))
    mutants = [ran for ran in runs if ran.specimen.kind == "mutant" and ran.signature is not None]
    return hints.KillMatrix(
        drill=drill.id,
        inputs=digest(drill),
        cases=cases,
        control=_control(cases, mutants),
        faults=tuple(
            hints.KnownFault(
                name=ran.specimen.name,
                what=ran.specimen.what,
                ask=ran.specimen.ask,
                expect=" | ".join(ran.specimen.expect),
                signature=ran.signature or hints.Signature(outcome=""),
            )
            for ran in mutants
        ),
        margins={ran.specimen.name: float(f"{ran.worst:.2g}") for ran in runs if ran.specimen.kind == "correct"},
    )


def _control(cases: Sequence[str], mutants: Sequence[Ran]) -> tuple[str, ...]:
    """Cases without which every mutant would still be killed: they guard against what no mutant does yet."""
    needed = set()
    for ran in mutants:
        failed = [one.case.name for one in ran.judged if not one.accepted]
        if len(failed) == 1:
            needed.add(failed[0])
    return tuple(case for case in cases if case not in needed)


def _kills(matrix: hints.KillMatrix) -> object:
    """What must be the same on every machine: which cases there are, and which kill which fault."""
    return (
        matrix.inputs,
        matrix.cases,
        [(f.name, f.what, f.ask, f.expect, f.signature.cases) for f in matrix.faults],
    )


def _difference(old: hints.KillMatrix, fresh: hints.KillMatrix) -> str:
    if old.cases != fresh.cases:
        return "the cases are others"
    before = {fault.name: fault for fault in old.faults}
    for fault in fresh.faults:
        known = before.get(fault.name)
        if known is None:
            return f"{fault.name} is new"
        if changed := set(known.signature.cases) ^ set(fault.signature.cases):
            return f"{fault.name} is told apart by other cases: {', '.join(sorted(changed))}"
    if len(old.faults) != len(fresh.faults):
        return "a fault is gone"
    return "a file of the drill has changed since"


def digest(drill: Drill) -> str:
    """A digest of every file of the drill that the matrix comes from."""
    total = hashlib.sha256()
    for path in sorted(drill.folder.rglob("*")):
        drawn = path.parent.name == "measured" or path.name == "steps.py"  # for the editorial, for the tile stepper
        if path.suffix in (".py", ".toml") and not drawn:
            total.update(str(path.relative_to(drill.folder)).encode() + b"\0" + path.read_bytes() + b"\0")
    return total.hexdigest()


def main(arguments: Sequence[str] | None = None) -> int:
    """Check drills from the command line; 1 when there are problems."""
    parser = argparse.ArgumentParser(prog="python -m grader.check", description=str(__doc__).split("\n")[0])
    parser.add_argument("drill", nargs="*", help="ids to check; all when none is given")
    parser.add_argument("--folder", type=Path, default=Path("drills"))
    parser.add_argument("--write", action="store_true", help="store the kill matrices anew")
    chosen = parser.parse_args(arguments)
    return 1 if check(chosen.folder, chosen.drill, write=chosen.write, say=_print) else 0


if __name__ == "__main__":
    sys.exit(main())
