"""Grading from the command line: the same grader as the site's, with the verdict written for a terminal."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from pathlib import Path

import typer

from app.errors import BadRequest, NotFound, Unavailable
from app.settings import Settings
from app.submissions.handed import source_problem
from grader.drill import Drill, DrillProblems, load_drills
from grader.grade import grade
from grader.pool import Pool, SandboxUnavailable
from grader.verdict import CaseResult, Decided, Lane, Outcome, Verdict, encode

_MARKS = {True: "ok", False: "!!"}


def grade_file(settings: Settings, drill_id: str, file: Path, lane: Lane, as_json: bool) -> int:
    """Grade `file` and print the verdict. Returns 0 accepted, 1 not accepted, 2 grader problem."""
    drill = _drill(settings, drill_id)
    source = _source(file, settings.source_limit)
    try:
        with Pool(lane, 1, framework=drill.framework, hidden=_hidden(settings)) as pool:
            verdict = _verdict(drill, source, lane, pool)
    except SandboxUnavailable as error:
        raise Unavailable(f"Nothing can be graded here: {error.reason}", error.what_to_do) from error
    typer.echo(encode(verdict).decode() if as_json else "\n".join(told(verdict)))
    if verdict.outcome is Outcome.GRADER_PROBLEM:
        typer.echo(f"grader problem: {verdict.problem}", err=True)
        return 2
    return 0 if verdict.outcome is Outcome.ACCEPTED else 1


def run_gate(settings: Settings, drill_id: str, write: bool, report: Path | None = None) -> int:
    """Put one drill or all of them through the publication gate; returns 0 when all pass, 1 otherwise.

    `write` stores the kill matrices anew; the folder `report` gets what was found as a page.
    """
    from app.cli import gate_report
    from grader.check import Checked, check

    def reported(checked: Sequence[Checked]) -> None:
        if report is not None:
            typer.echo(f"report: {gate_report.write(report, checked)}")

    ids = [drill_id] if drill_id else []
    return 1 if check(settings.drills, ids, write=write, say=typer.echo, report=reported) else 0


def told(verdict: Verdict) -> Iterator[str]:
    """A verdict in lines for a terminal: the sentence, why, the question, the visible cases as a table."""
    yield f"{_MARKS[verdict.outcome is Outcome.ACCEPTED]}  {verdict.sentence}"
    failure = next((case for case in verdict.cases if case.outcome is not Outcome.ACCEPTED and case.visible), None)
    if failure is not None:
        yield ""
        yield from _failure(failure)
    yield from _diagnosis(verdict)
    if verdict.cases:
        yield ""
        yield from _table([case for case in verdict.cases if case.visible])
        yield from _folded([case for case in verdict.cases if not case.visible])
    for skipped in verdict.skipped:
        yield f"--  {skipped.name}: {skipped.reason}"
    yield from _compiled(verdict)
    for finding in verdict.findings:
        yield f"note: line {finding.line}: {finding.text}" if finding.line else f"note: {finding.text}"
    if verdict.console.text:
        yield ""
        yield "Printed by your code:"
        yield from (f"  | {_plain(line)}" for line in verdict.console.text.splitlines()[:40])
    yield ""
    times = verdict.timings
    phases = (
        ("runner", times.pool),
        ("loading", times.load),
        ("your code", times.run),
        ("compiling", times.compile),
        ("timing", times.speed),
        ("judging", times.judge),
        ("your kernels alone", times.alone),
        ("waiting for the compiler", times.compiler),
        ("diagnosis", times.diagnose),
    )
    yield f"{times.total:.2f} s: " + ", ".join(f"{name} {taken:.2f}" for name, taken in phases if taken > 0)


def _folded(cases: Sequence[CaseResult]) -> Iterator[str]:
    """One line for all hidden cases: they have nothing to say one by one."""
    if cases:
        accepted = sum(case.outcome is Outcome.ACCEPTED for case in cases)
        yield f"{_MARKS[accepted == len(cases)]}  {accepted} of {len(cases)} hidden cases passed"


def _table(cases: Sequence[CaseResult]) -> Iterator[str]:
    if not cases:
        return
    rows = [("", "case", "shape", "data", "type", "error / tolerance")]
    for case in cases:
        error = "" if case.error is None else f"{case.error:.3g}"
        if case.mismatch is not None and case.mismatch.nan:
            error = f"{case.mismatch.nan:,} NaN"
        rows.append(
            (
                _MARKS[case.outcome is Outcome.ACCEPTED],
                _plain(case.name),
                _plain(case.shape),
                _plain(case.data),
                case.dtype,
                error
                if case.outcome in (Outcome.ACCEPTED, Outcome.WRONG_ANSWER)
                else case.outcome.replace("_", " "),
            )
        )
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def _failure(case: CaseResult) -> Iterator[str]:
    known = "; ".join(words for words in (case.shape, case.data) if words)
    yield f"First failure: {case.name}" + (f" ({known})" if known else "")
    if case.mismatch is not None:
        where = case.mismatch.first
        place = f"[{', '.join(map(str, where.index))}]"
        if where.tile is not None:
            place += f", tile {where.tile}, lane {where.lane}"
        yield f"  {case.mismatch.output} at {place}: expected {case.mismatch.expected}, got {case.mismatch.actual}"
        yield f"  {case.mismatch.wrong:,} of {case.mismatch.total:,} elements are wrong" + (
            f", {case.mismatch.nan:,} of them NaN" if case.mismatch.nan else ""
        )
        yield from (f"  {feature}" for feature in case.mismatch.features)
    if case.report is not None:
        yield from (f"  {_plain(what)}: {_plain(much)}" for what, much in case.report.figures)
        yield from (f"  {m.group} {m.name}: {_plain(m.words) or 'missing'}" for m in case.report.marks if not m.ok)
    if case.calls is not None:
        yield f"  calls of {case.calls.name}: {case.calls.used}, allowed {case.calls.allowed}"
    if case.detail:
        line = f"line {case.line}: " if case.line else ""
        yield from (f"  {line if first else ''}{_plain(text)}" for first, text in _numbered(case.detail))


def _numbered(text: str) -> Iterator[tuple[bool, str]]:
    for number, line in enumerate(text.splitlines()):
        yield number == 0, line


def _diagnosis(verdict: Verdict) -> Iterator[str]:
    diagnosis = verdict.diagnosis
    if diagnosis is None:
        return
    yield ""
    if diagnosis.smallest_failing is not None:
        yield f"Smallest failing shape: {diagnosis.smallest_failing.shape}"
    if diagnosis.nearest_passing is not None:
        yield f"Nearest passing shape:  {diagnosis.nearest_passing.shape}"
    if diagnosis.trend:
        yield f"Error against tiles:    {diagnosis.trend}"
    if diagnosis.question:
        yield f"Ask yourself: {diagnosis.question}"


def _compiled(verdict: Verdict) -> Iterator[str]:
    """What each kernel costs on each architecture that it was compiled for."""
    for one in verdict.compiled:
        figures = (
            ("registers", one.registers),
            ("bytes spilled", one.spilled_bytes),
            ("bytes of shared memory a program", one.shared_bytes),
        )
        said = ", ".join(f"{number:,} {what}" for what, number in figures if number is not None)
        choice = ", ".join(filter(None, (one.constants, f"{one.warps} warps")))
        yield f"{one.target}: {_plain(one.kernel)} ({_plain(choice)}): {said}"


def _plain(text: str) -> str:
    """Text of a learner's program without what would act on the terminal."""
    return "".join(character if character.isprintable() else "�" for character in text)


def _verdict(drill: Drill, source: str, lane: Lane, pool: Pool) -> Verdict:
    for event in grade(drill, source, lane, pool=pool, seed=secrets.token_bytes(16)):
        if isinstance(event, Decided):
            return event.verdict
    raise Unavailable("The grader ended without a verdict.")


def _drill(settings: Settings, drill_id: str) -> Drill:
    try:
        drills = load_drills(settings.drills)
    except DrillProblems as error:
        raise BadRequest(str(error)) from error
    if drill_id not in drills:
        raise NotFound(f"drill {drill_id!r} (there are: {', '.join(drills) or 'none'})")
    return drills[drill_id]


def _source(file: Path, limit: int) -> str:
    try:
        source = file.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise BadRequest(f"{file} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise BadRequest(f"{file} is not UTF-8: byte {error.start} is not part of any character.") from error
    problem = source_problem(source, limit)
    if problem:
        raise BadRequest(f"{file}: {problem}")
    return source


def _hidden(settings: Settings) -> tuple[Path, ...]:
    return tuple(path.resolve() for path in (settings.data, settings.drills, settings.content))
