"""The publication gate: what it reads, what it complains of, and that a matrix is stored only when it is whole."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from grader import hints
from grader.check import _complaints, check, slack, slow
from grader.judge import Judged
from grader.kit import Case
from grader.matrix import build_matrix, digest
from grader.pool import Pool
from grader.specimens import Ran, Specimen, read_mutant, read_specimens
from grader.verdict import CaseResult, Lane, Outcome, Timings, Verdict
from tests.grader.callers import TOYS, toy

DRILL = toy()
HIDDEN = Case("deep", "range", {"rows": 1, "cols": 17})
VISIBLE = replace(HIDDEN, name="seen", visible=True)


def judged(case: Case, outcome: Outcome = Outcome.ACCEPTED, error: float | None = 0.02) -> Judged:
    return Judged(case, CaseResult(name=case.name, visible=case.visible, outcome=outcome, error=error))


def ran(kind: str, outcome: Outcome, *results: Judged, expect: tuple[str, ...] = (), run: float = 0.0) -> Ran:
    verdict = Verdict(
        outcome=outcome, sentence="", drill="d", lane=Lane.CPU, problem="reason", timings=Timings(run=run)
    )
    specimen = Specimen(kind, DRILL.folder / "starter.py", "what", "Why?", expect)
    return Ran(specimen, verdict, results, hints.Signature(outcome=outcome), 0.0)


WRONG = judged(HIDDEN, Outcome.WRONG_ANSWER, None)


@pytest.mark.parametrize(
    ("run", "words"),
    [
        (ran("starter", Outcome.WRONG_ANSWER, WRONG), None),
        (ran("starter", Outcome.ACCEPTED, judged(HIDDEN)), "the starter is accepted"),
        (ran("correct", Outcome.ACCEPTED, judged(HIDDEN, error=0.1)), None),
        (ran("correct", Outcome.ACCEPTED, judged(HIDDEN, error=0.11)), "errs by 0.11 of the tolerance"),
        (ran("correct", Outcome.ACCEPTED, judged(HIDDEN, error=float("nan"))), "errs by nan of the tolerance"),
        (ran("correct", Outcome.WRONG_ANSWER, WRONG), "a correct kernel is refused: deep: wrong_answer"),
        (ran("mutant", Outcome.WRONG_ANSWER, WRONG, expect=("wrong_answer",)), None),
        (ran("mutant", Outcome.RULE_BROKEN, WRONG, expect=("wrong_answer", "rule_broken")), None),
        (ran("mutant", Outcome.ACCEPTED, judged(HIDDEN), expect=("wrong_answer",)), "ends as accepted"),
        (ran("mutant", Outcome.RULE_BROKEN, WRONG, expect=("wrong_answer",)), "not wrong_answer"),
        (
            ran("mutant", Outcome.WRONG_ANSWER, judged(VISIBLE, Outcome.WRONG_ANSWER), expect=("wrong_answer",)),
            "no hidden case kills it",
        ),
        (ran("mutant", Outcome.GRADER_PROBLEM, expect=("wrong_answer",)), "grader problem: reason"),
    ],
)
def test_complaints(run: Ran, words: str | None) -> None:
    found = [str(problem) for problem in _complaints(DRILL, run)]
    assert (found == []) if words is None else (len(found) == 1 and words in found[0])


def test_a_slack_tolerance_is_refused_by_what_correct_kernels_need() -> None:
    assert slack(DRILL, [0.0001, 0.006]) == []
    assert "it is slack" in str(slack(DRILL, [0.0001, 0.0004])[0])


def test_a_suite_over_its_time_is_refused() -> None:
    quick, late = ran("correct", Outcome.ACCEPTED, run=1.0), ran("correct", Outcome.ACCEPTED, run=9.0)
    assert slow(DRILL, [quick, late, quick]) == []
    assert "takes 9.0 s" in str(slow(DRILL, [late, late, quick])[0])


MUTANT = (
    '"""It does a thing.\n\nask: What does it do?\nexpect: wrong_answer | rule_broken\n"""\n\ndef softmax(x): ...\n'
)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("", "", None),
        ("ask: What does it do?\n", "", "no `ask:` line"),
        ("What does it do?", "Add a mask.", "no `ask:` line that ends as a question"),
        ("expect: wrong_answer | rule_broken\n", "", "no `expect:` line"),
        ("wrong_answer |", "wrong |", "no `expect:` line with known outcomes"),
        ("wrong_answer |", "accepted |", "no `expect:` line with known outcomes"),
        ("wrong_answer |", "grader_problem |", "no `expect:` line with known outcomes"),
        ("def softmax(x)", "def softmax(x", "is not Python"),
    ],
)
def test_what_a_mutant_must_say(tmp_path: Path, old: str, new: str, words: str | None) -> None:
    path = tmp_path / "thing.py"
    path.write_text(MUTANT.replace(old, new, 1) if old else MUTANT)
    specimen, problems = read_mutant(path, "d")
    if words is None:
        assert problems == []
        assert (specimen.what, specimen.ask) == ("It does a thing.", "What does it do?")
        assert specimen.expect == ("wrong_answer", "rule_broken")
    else:
        assert any(words in str(problem) for problem in problems)


def test_a_drill_needs_mutants_and_correct_kernels() -> None:
    specimens, problems = read_specimens(DRILL)
    assert [specimen.kind for specimen in specimens] == ["starter"]
    assert sorted(str(problem).split(";")[0] for problem in problems) == [
        "row_softmax: 0 files of kind correct",
        "row_softmax: 0 files of kind mutant",
    ]


def test_a_case_that_alone_kills_a_mutant_is_no_control() -> None:
    run = ran("mutant", Outcome.WRONG_ANSWER, judged(VISIBLE), WRONG)
    both = ran("mutant", Outcome.WRONG_ANSWER, judged(VISIBLE, Outcome.WRONG_ANSWER, None), WRONG)
    named = replace(WRONG, case=replace(HIDDEN, name="near 300"))
    assert "near 300" not in build_matrix(DRILL, [replace(run, judged=(named,))]).control
    assert (
        "near 300"
        in build_matrix(DRILL, [replace(both, judged=(named, judged(VISIBLE, Outcome.WRONG_ANSWER)))]).control
    )


def test_the_digest_follows_every_file(tmp_path: Path) -> None:
    shutil.copytree(TOYS / "row_softmax", tmp_path / "row_softmax")
    drill = DRILL.model_copy(update={"folder": tmp_path / "row_softmax"})
    before = digest(drill)
    assert digest(DRILL) == before
    (drill.folder / "reference.py").write_text("# other\n")
    assert digest(drill) != before


GOOD = """
import numpy as np
def softmax(x):
    w = np.exp{0}(({1}x - x.max(-1, keepdims=True){2}){3})
    return w / w.sum(-1, keepdims=True)
"""


SCORES = {"no_max_subtraction": "x * 1", "no_rescale": "x * 2", "first_maximum": "x - x[:, :1] * 0 - 400"}


def write_specimens(folder: Path) -> None:
    for kind in ("correct", "mutants"):
        (folder / kind).mkdir()
    plain = GOOD.format("", "", "", "")
    (folder / "correct" / "plain.py").write_text(plain)
    (folder / "correct" / "base_two.py").write_text(GOOD.format("2", "", "", " * np.float32(1.442695)"))
    (folder / "correct" / "wide.py").write_text(
        plain.replace("x - ", "x.astype(np.float64) - ").replace(
            "return w / w", "w = w.astype(np.float32)\n    return w / w"
        )
    )
    fault = '"""{0}.\n\nask: What is it?\nexpect: wrong_answer\n"""\n'
    for name, score in SCORES.items():
        text = plain.replace("x - x.max(-1, keepdims=True)", score)
        (folder / "mutants" / f"{name}.py").write_text(fault.format(name) + text)


@pytest.mark.sandbox
def test_the_whole_gate_on_a_small_drill(tmp_path: Path) -> None:
    """It passes and its matrix is stored; then it is spoiled, and each thing that is wrong is said."""
    folder = tmp_path / "row_softmax"
    shutil.copytree(TOYS / "row_softmax", folder)
    write_specimens(folder)
    excuse = '\n[excused]\ntransposed_head_map = "No heads."\ntop_left_alignment = "No mask."\n'
    (folder / "drill.toml").write_text((folder / "drill.toml").read_text() + excuse)
    said: list[str] = []
    with Pool(Lane.CPU, size=2, framework="numpy") as pool:
        assert check(tmp_path, write=True, say=said.append, pool=pool) == []
        stored = hints.load_matrix(folder)
        (folder / "mutants" / "no_rescale.py").unlink()
        (folder / "correct" / "wide.py").write_text("def softmax(x): return x\n")
        broken = "\n".join(str(problem) for problem in check(tmp_path, say=said.append, pool=pool))
    assert "no mutant no_rescale" in broken
    assert "wide.py: a correct kernel is refused: one tile: wrong_answer" in broken
    assert "kill_matrix.json: is out of date: a fault is gone" in broken
    assert stored is not None and [fault.name for fault in stored.faults] == sorted(SCORES)
    assert any("killed by" in line for line in said)


def test_an_unknown_drill_is_a_problem(tmp_path: Path) -> None:
    said: list[str] = []
    (problem,) = check(tmp_path, ["nothing"], say=said.append, pool=object())  # type: ignore[arg-type]
    assert "is not a drill" in str(problem)
