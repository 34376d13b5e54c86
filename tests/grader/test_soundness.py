"""A suite that can't tell right from wrong is refused, for the reason that makes it so."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from grader.drill import Drill, load_drills
from grader.kit import Ask, Case, Exact, Output, Play, Suite, Tolerance, Values
from grader.soundness import unsound
from grader.suite import Answers, Reference, load_answers
from tests.grader.callers import toy

DRILLS = Path(__file__).parents[2] / "drills"


def softmax_drill() -> tuple[Drill, Answers]:
    drill = load_drills(DRILLS)["tiled_softmax"]
    return drill, load_answers(drill)


def complaints(change: Callable[[Suite], Suite], drill: Drill | None = None) -> list[str]:
    own, answers = softmax_drill()
    return [str(problem) for problem in unsound(drill or own, replace(answers, suite=change(answers.suite)))]


def test_the_real_suite_is_sound() -> None:
    assert complaints(lambda suite: suite) == []


def with_cases(keep: Callable[[Case], Case | None]) -> Callable[[Suite], Suite]:
    def change(suite: Suite) -> Suite:
        kept = tuple(new for new in map(keep, suite.cases) if new is not None)
        return replace(suite, cases=kept, around=lambda blocks: ())

    return change


def with_tolerance(loosen: Callable[[Tolerance], Tolerance]) -> Callable[[Suite], Suite]:
    def change(suite: Suite) -> Suite:
        def play(case: Case, rng: np.random.Generator) -> Play:
            inner = suite.play(case, rng)
            ask = next(inner)
            (output,) = ask.outputs
            assert isinstance(output, Output)

            def loose(expected: Values, inputs: Sequence[Values]) -> Tolerance:
                return loosen(output.tolerance(expected, inputs))

            yield Ask(ask.entry, ask.args, (replace(output, tolerance=loose),))

        return replace(suite, play=play)

    return change


def times(factor: float) -> Callable[[Suite], Suite]:
    return with_tolerance(lambda t: replace(t, allowed=t.allowed * factor))


@pytest.mark.parametrize("factor", [1000, 10_000])
def test_a_slack_tolerance_is_refused(factor: float) -> None:
    assert any("the fault half_arithmetic passes" in text for text in complaints(times(factor)))


def test_a_tolerance_that_takes_zeros_is_refused() -> None:
    assert any("zeros pass as result" in text for text in complaints(times(1e6)))


def test_an_absolute_tolerance_as_large_as_the_results_is_refused() -> None:
    loose = with_tolerance(lambda t: replace(t, absolute=1e-3, allowed=t.allowed + 1e-3))
    assert any("too small against the absolute tolerance" in text for text in complaints(loose))


def test_tile_multiples_only_are_refused() -> None:
    def multiples(case: Case) -> Case:
        return case.resized("cols", -(-case.dims["cols"] // case.block) * case.block)

    found = complaints(with_cases(multiples))
    assert any("no hidden case has a partial tile" in text for text in found)
    assert any("could show the fault phantom_zero" in text for text in found)
    assert any("could show the fault last_tile_dropped" in text for text in found)


def test_one_tile_only_is_refused() -> None:
    found = complaints(with_cases(lambda case: case if case.dims["cols"] <= case.block else None))
    assert any("more than two tiles" in text for text in found)
    assert any("first_tile_only" in text for text in found)


def test_data_that_accepts_zeros_is_refused() -> None:
    """Rows so long and flat that each weight is lost in the tolerance."""

    def tiny(suite: Suite) -> Suite:
        return with_tolerance(lambda t: replace(t, allowed=t.allowed + 1.0))(suite)

    suite = softmax_drill()[1].suite
    every = len(suite.cases) + len(suite.around(()))
    assert sum("zeros pass as" in text for text in complaints(tiny)) == every


def test_contiguous_rows_only_are_refused() -> None:
    found = complaints(with_cases(lambda case: replace(case, layout="contiguous")))
    assert any("contiguous_assumed passes every hidden case" in text for text in found)


def test_the_number_of_cases_around_blocks_is_known_beforehand() -> None:
    def uneven(suite: Suite) -> Suite:
        return replace(suite, around=lambda blocks: suite.around(blocks)[len(blocks) :])

    assert any("another number of cases" in text for text in complaints(uneven))


def test_one_row_only_is_refused() -> None:
    found = complaints(with_cases(lambda case: case.resized("rows", 1)))
    assert any("could show the fault first_row_only" in text for text in found)


def test_a_reference_that_is_wrong_is_found_by_the_other_formula() -> None:
    drill, answers = softmax_drill()
    wrong: Reference = {"softmax": lambda x: np.asarray(answers.reference["softmax"](x)) * (1 + 1e-6)}
    found = [str(problem) for problem in unsound(drill, replace(answers, reference=wrong))]
    assert any("the reference and the independent formula differ" in text for text in found)


def test_a_missing_independent_formula_is_a_problem() -> None:
    assert any(
        "no independent formula" in text for text in complaints(lambda suite: replace(suite, independent={}))
    )


def test_a_fault_of_the_algorithm_needs_a_mutant_or_an_excuse() -> None:
    drill, _ = softmax_drill()
    found = complaints(lambda suite: suite, drill.model_copy(update={"excused": {}}))
    assert any("no mutant transposed_head_map" in text for text in found)
    assert not any("no mutant no_rescale" in text for text in found)


def test_the_toy_drill_lacks_what_it_lacks() -> None:
    drill = toy()
    found = [str(problem) for problem in unsound(drill, load_answers(drill))]
    assert any("no mutant no_rescale" in text for text in found)


def plain_drill(visible: int, *hidden: int) -> list[str]:
    """What is said of a drill that returns twice the number it gets, with these numbers as cases."""

    def play(case: Case, rng: np.random.Generator) -> Play:
        yield Ask("softmax", (int(case.about),), (Exact("double"),))

    cases = tuple(Case(str(i), "one", {}, about=str(n), visible=i == 0) for i, n in enumerate((visible, *hidden)))
    suite = Suite((), cases, play, (), {"softmax": lambda n: n + n})
    return [str(problem) for problem in unsound(toy(), Answers(suite, {"softmax": lambda n: 2 * n}))]


def test_plain_results_need_no_faults_of_arrays_but_cases_that_differ() -> None:
    assert plain_drill(4, 5, 6) == []
    assert any("accept what the visible ones show" in text for text in plain_drill(4, 4, 4))


def test_plain_results_are_compared_with_the_other_formula() -> None:
    def play(case: Case, rng: np.random.Generator) -> Play:
        yield Ask("softmax", (2,), (Exact("double"),))

    cases = (Case("a", "one", {}, visible=True), Case("b", "one", {}))
    suite = Suite((), cases, play, (), {"softmax": lambda n: float(2 * n)})
    found = [str(problem) for problem in unsound(toy(), Answers(suite, {"softmax": lambda n: 2 * n}))]
    assert sum("the other formula differ" in text for text in found) == 2
