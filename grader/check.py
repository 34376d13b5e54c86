"""The publication gate: a drill that does not pass it is not published. `python -m grader.check [drill …]`

First what NumPy alone can see (`grader.soundness`), then real runs: the starter is refused, every mutant ends as
its docstring expects and is killed by a hidden case, correct kernels of other construction pass with a margin of
ten. What the mutants showed is stored as the drill's kill matrix, which hints are matched with.

Reading order: `check` → `check_drill` → `_run` (one file) → `_complaints` → `table`.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from grader import hints
from grader.drill import Drill, Problem, read_drills
from grader.grade import Grading
from grader.matrix import build_matrix, stored
from grader.nursery import Nursery
from grader.pool import Pool, SandboxUnavailable
from grader.soundness import SEED, unsound
from grader.specimens import Ran, Specimen, read_specimens
from grader.suite import Answers, BrokenDrill, Remembered, load_answers
from grader.verdict import Decided, Lane, Outcome

MARGIN = 0.1  # correct kernels may use a tenth of the tolerance
STATED_MARGIN = 0.8
SLACK = 0.005  # and the least exact of them should use this much of it, or it is too wide
SUITE_SECONDS = 5.0  # for the median correct kernel, on a machine that does nothing else
WORKERS = 2

Say = Callable[[str], None]


def _print(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


@dataclass(frozen=True)
class Checked:
    """What the gate found of one drill. The matrix is missing where a run went wrong on our side."""

    drill: Drill
    cases: tuple[str, ...] = ()
    hidden: frozenset[str] = frozenset()
    runs: tuple[Ran, ...] = ()
    matrix: hints.KillMatrix | None = None
    problems: tuple[Problem, ...] = ()
    seconds: float = 0.0

    def of(self, kind: str) -> tuple[Ran, ...]:
        """The runs of a kind: starter, mutant or correct."""
        return tuple(ran for ran in self.runs if ran.specimen.kind == kind)

    @property
    def killed(self) -> int:
        """Mutants that were refused, each by a verdict about it."""
        refused = set(Outcome) - {Outcome.ACCEPTED, Outcome.GRADER_PROBLEM}
        return sum(ran.verdict.outcome in refused for ran in self.of("mutant"))

    @property
    def passed(self) -> int:
        """Correct kernels that were accepted."""
        return sum(ran.verdict.outcome is Outcome.ACCEPTED for ran in self.of("correct"))


def check(
    folder: Path,
    ids: Sequence[str] = (),
    *,
    write: bool = False,
    say: Say = _print,
    pool: Pool | None = None,
    report: Callable[[Sequence[Checked]], None] = lambda _: None,
) -> list[Problem]:
    """Check the drills of `folder` (all, or those named) and report on `say`. Returns every problem found.

    `write` stores the kill matrices anew instead of complaining that they are out of date. `report` gets all that
    was found, at the end.
    """
    drills, problems = read_drills(folder)
    problems += [
        Problem(name, None, "is not a drill", f"known are {', '.join(drills) or 'none'}")
        for name in ids
        if name not in drills
    ]
    chosen = [drill for drill in drills.values() if not ids or drill.id in ids]
    checked: list[Checked] = []
    try:
        with Pools() as pools:
            for drill in chosen:
                found = check_drill(drill, pools.of if pool is None else (lambda _: pool), write=write, say=say)
                checked.append(found)
                problems += found.problems
    except SandboxUnavailable as error:
        problems.append(Problem(str(folder), None, f"no sandbox: {error}", "see `tilewright doctor`"))
    for line in table(checked):
        say(line)
    for problem in problems:
        say(f"  ✗ {problem}")
    say(f"{len(chosen)} drills, {len(problems)} problems")
    report(checked)
    return problems


def table(checked: Sequence[Checked]) -> Iterator[str]:
    """One line for each drill, and one for all of them."""
    rows: list[tuple[str, ...]] = [("drill", "cases", "mutants killed", "alive", "correct passed", "time")]
    for one in checked:
        rows.append((one.drill.id, *_figures([one])))
    rows.append(("all", *_figures(checked)))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for name, *figures in rows:
        yield "  ".join((name.ljust(widths[0]), *(f.rjust(w) for f, w in zip(figures, widths[1:], strict=True))))


def _figures(checked: Sequence[Checked]) -> tuple[str, ...]:
    mutants = sum(len(one.of("mutant")) for one in checked)
    killed = sum(one.killed for one in checked)
    correct = sum(len(one.of("correct")) for one in checked)
    return (
        str(sum(len(one.cases) for one in checked)),
        f"{killed} of {mutants}",
        str(mutants - killed),
        f"{sum(one.passed for one in checked)} of {correct}",
        f"{sum(one.seconds for one in checked):.1f} s",
    )


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


def check_drill(drill: Drill, pool_for: Callable[[Drill], Pool], *, write: bool, say: Say) -> Checked:
    """The whole gate for one drill. A file may choose another framework, and gets runners for it."""
    started = time.perf_counter()
    say(f"{drill.id}: {drill.title}")
    try:
        answers = load_answers(drill)
    except BrokenDrill as error:
        return Checked(drill, problems=(Problem(f"{drill.id}/suite.py", None, str(error), "mend it"),))
    problems = unsound(drill, answers)
    cases = (*answers.suite.cases, *answers.suite.around(()))
    say(f"  suite      {len(cases)} cases, {'sound' if not problems else f'{len(problems)} problems'}")
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
    matrix = None
    if not any(ran.verdict.outcome is Outcome.GRADER_PROBLEM for ran in runs):  # else half of it would look whole
        matrix = build_matrix(drill, runs)
        kept = f"{len(matrix.faults)} faults × {len(matrix.cases)} cases, {len(matrix.control)} of them control"
        say(f"  matrix     {kept}")
        problems += stored(drill, matrix, write=write)
    return Checked(
        drill,
        tuple(case.name for case in cases),
        frozenset(case.name for case in cases if not case.visible),
        tuple(runs),
        matrix,
        tuple(problems),
        time.perf_counter() - started,
    )


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
