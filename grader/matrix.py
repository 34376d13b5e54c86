"""The kill matrix of a drill: which case refuses which mutant. Built from the gate's runs, stored, compared.

Reading order: `stored` → `build_matrix` → `digest`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import msgspec

from grader import hints
from grader.abilities import computes
from grader.drill import Drill, Problem
from grader.specimens import Ran
from grader.suite import load_answers
from grader.verdict import Lane


def stored(drill: Drill, fresh: hints.KillMatrix, *, write: bool) -> list[Problem]:
    """Compare the matrix with the stored one, or store it."""
    path = drill.folder / hints.FILE
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
