"""Is a suite able to tell right from wrong? Checked with NumPy alone, before any kernel runs.

The reference must agree with an independent formula; results must be large against the tolerance; the tolerance
must refuse zeros everywhere, and somewhere every universal fault; shapes must cross tiles. Each complaint is a
`Problem`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from grader.compare_exact import compare_exactly
from grader.drill import Drill, Problem
from grader.kit import (
    DTYPES,
    Ask,
    Case,
    Checked,
    Exact,
    Output,
    Placed,
    Reply,
    Suite,
    big_enough,
    error_in_units,
    generator,
)
from grader.suite import Answers, BrokenDrill, evaluate
from grader.universal import ALGORITHMIC, EVERYWHERE, VALUES, Fault

SEED = b"publication gate"
# Of the tolerance: where large terms cancel, two formulas may differ more, relative to what is left.
HARMLESS = 1e-3
AGREE = 1e-9  # relative; two float64 formulas may differ by some units in the last place of the largest score


@dataclass(frozen=True)
class Step:
    """One call of one case, with its expected outputs."""

    case: Case
    ask: Ask
    expected: tuple[Any, ...]

    @property
    def has_arrays(self) -> bool:
        """Does an array go in, or one of several elements come out?"""
        outputs = any(isinstance(output, Output) and output.shape != () for output in self.ask.outputs)
        return outputs or any(isinstance(argument, Placed) for argument in self.ask.args)


def unsound(drill: Drill, answers: Answers) -> list[Problem]:
    """All that is wrong with the suite's data, shapes and tolerances."""
    label = f"{drill.id}/suite.py"
    suite = answers.suite
    problems = [Problem(label, None, what, do) for what, do in _shapes(suite)]
    try:
        steps = list(_steps(answers, drill))
    except BrokenDrill as error:
        return [*problems, Problem(label, None, str(error), "mend the reference or the suite")]
    for step in steps:
        problems += [
            Problem(label, None, f"case {step.case.name!r}: {what}", do) for what, do in _numbers(suite, step)
        ]
    problems += [Problem(label, None, what, do) for what, do in _universal(drill, answers, steps)]
    return problems


def _steps(answers: Answers, drill: Drill) -> Iterator[Step]:
    """Every call of every case, played with the reference itself as the learner."""
    for case in (*answers.suite.cases, *answers.suite.around(())):
        play = answers.suite.play(case, generator(SEED, drill.id, case.name))
        ask = next(play)
        while True:
            expected = answers.expected(ask)
            yield Step(case, ask, expected)
            try:
                ask = play.send(Reply(expected))
            except StopIteration:
                break


def _shapes(suite: Suite) -> Iterator[tuple[str, str]]:
    """Shapes that are all multiples of a tile, or never more than one, hide the most common faults."""
    counts = {len(suite.around(blocks)) for blocks in ((), (16,), (64, 1024))}
    if len(counts) > 1:
        yield "around() gives another number of cases for other blocks", "always give the same number"
    axis = suite.tiled
    if axis is None:
        return
    cases = [case for case in (*suite.cases, *suite.around(())) if not case.visible]
    lengths = [(case.dims[axis.name], case.block) for case in cases]
    if not any(length % block and length > block for length, block in lengths):
        yield "no hidden case has a partial tile after a whole one", "add lengths like B+1 and 3B+1"
    if not any(length < block for length, block in lengths):
        yield "no hidden case is shorter than a tile", "add a length like B−1"
    if not any(length > 2 * block for length, block in lengths):
        yield "no hidden case has more than two tiles", "add one of many tiles"


def _numbers(suite: Suite, step: Step) -> Iterator[tuple[str, str]]:
    """One call: independent formula, size rule, zeros refused."""
    formula = suite.independent.get(step.ask.entry)
    if formula is None:
        yield f"no independent formula for {step.ask.entry}", "add it to SUITE.independent"
        return
    inputs = tuple(argument.values for argument in step.ask.args if isinstance(argument, Placed))
    other = evaluate(formula, step.ask)
    for output, expected, again in zip(step.ask.outputs, step.expected, other, strict=True):
        if isinstance(output, Exact):
            if not compare_exactly(output.name, again, expected).accepted:
                yield f"the reference and the other formula differ in {output.name}", "find out which is wrong"
            continue
        if isinstance(output, Checked):
            for whose, value in (("reference", expected), ("other answer", again)):
                if not output.check(value).accepted:
                    yield f"the check refuses the {whose} for {output.name}", "mend the check, or the answer"
            continue
        scale = max(1.0, *(float(np.abs(v[np.isfinite(v)]).max(initial=0.0)) for v in inputs)) if inputs else 1.0
        allowed = output.tolerance(expected, inputs)
        close = np.isclose(expected, again, rtol=AGREE * scale, atol=1e-300)
        if not (close | (error_in_units(again, expected, allowed) <= HARMLESS)).all():
            yield f"the reference and the independent formula differ in {output.name}", "find out which is wrong"
        if not expected.any():
            continue  # zeros are what this call must return; another call must refuse them, see `_universal`
        has_size = DTYPES[output.dtype].is_float and (np.isfinite(expected) & (expected != 0)).any()
        if has_size and not big_enough(expected, allowed):
            yield f"{output.name} is too small against the absolute tolerance", "rescale the data"
        if (error_in_units(np.zeros_like(expected), expected, allowed) <= 1.0).all():
            yield f"zeros pass as {output.name}", "tighten the tolerance or rescale the data"


def _universal(drill: Drill, answers: Answers, steps: list[Step]) -> Iterator[tuple[str, str]]:
    """Every universal fault must be refused by a hidden case, or be excused with a reason.

    Faults of arrays are asked of drills with arrays; of plain results, that they can't be read off visible cases.
    """
    arrays = any(step.has_arrays for step in steps)
    if "visible_answers" not in drill.excused and _fits(steps):
        yield "hidden cases accept what the visible ones show", "give hidden cases inputs with other answers"
    for name, fault in VALUES.items() if arrays else ():
        if name in drill.excused:
            continue
        refused = [
            not accepted(step, wrong)
            for step in steps
            if not step.case.visible and (wrong := _wrong(fault, answers, step)) is not None
        ]
        if not refused:
            yield f"no hidden case could show the fault {name}", "add one, or excuse it in drill.toml with a reason"
        elif not any(refused):
            yield f"the fault {name} passes every hidden case", "tighten the tolerance, or add data that shows it"
        elif name in EVERYWHERE and sum(refused) * 2 < len(refused):
            what = f"the fault {name} passes {len(refused) - sum(refused)} of {len(refused)} hidden cases"
            yield what, "tighten the tolerance: it is an error of every element, not of some shape"
    for name in ALGORITHMIC if arrays else ():
        if name not in drill.excused and not (drill.folder / "mutants" / f"{name}.py").exists():
            yield f"no mutant {name}", f"write mutants/{name}.py, or excuse it in drill.toml with a reason"


def _fits(steps: list[Step]) -> bool:
    """Does a table of the visible cases pass for a solution? Only plain results could be written down like that."""
    plain = [step for step in steps if step.ask.outputs and all(_is_plain(output) for output in step.ask.outputs)]
    table = {(step.ask.entry, repr(step.ask.args)): step.expected for step in plain if step.case.visible}
    first = {entry: answer for (entry, _), answer in reversed(table.items())}
    hidden = [step for step in plain if not step.case.visible and step.ask.entry in first]
    return bool(hidden) and all(
        accepted(step, table.get((step.ask.entry, repr(step.ask.args)), first[step.ask.entry])) for step in hidden
    )


def _is_plain(output: object) -> bool:
    return isinstance(output, Exact) or (isinstance(output, Output) and output.shape == ())


def _wrong(fault: Fault, answers: Answers, step: Step) -> tuple[Any, ...] | None:
    if step.ask.peak_bytes is not None:
        return None  # it is there to measure memory and too large to be computed a dozen times
    if step.ask.raises or not all(isinstance(output, Output) for output in step.ask.outputs):
        return None
    block = step.case.block if answers.suite.tiled else None
    return fault(step.case, step.ask, answers.reference[step.ask.entry], block)


def accepted(step: Step, results: tuple[Any, ...]) -> bool:
    """Would the judge accept these results for this call?"""
    inputs = tuple(argument.values for argument in step.ask.args if isinstance(argument, Placed))
    for output, expected, actual in zip(step.ask.outputs, step.expected, results, strict=True):
        if isinstance(output, Exact):
            if not compare_exactly(output.name, actual, expected).accepted:
                return False
            continue
        if isinstance(output, Checked):
            if not output.check(actual).accepted:
                return False
            continue
        if np.shape(actual) != expected.shape:
            return False
        units = error_in_units(actual, expected, output.tolerance(expected, inputs))
        if not (units <= 1.0).all():
            return False
    return True
