"""The gate's page: every figure from the runs, whatever texts are in it, and nothing fetched from elsewhere."""

from __future__ import annotations

import re
from pathlib import Path

from app.cli import gate_report
from grader.check import Checked, table
from grader.judge import Judged
from grader.kit import Case
from grader.matrix import build_matrix
from grader.specimens import Ran, Specimen
from grader.verdict import CaseResult, Lane, Outcome, Verdict
from tests.grader.callers import toy

DRILL = toy()
HOSTILE = '<script>alert("1")</script>'


def judged(name: str, outcome: Outcome, *, visible: bool = False, detail: str = "") -> Judged:
    case = Case(name, "range", {"rows": 1, "cols": 17}, visible=visible)
    return Judged(case, CaseResult(name=name, visible=visible, outcome=outcome, error=0.02, detail=detail))


def ran(kind: str, name: str, outcome: Outcome, *results: Judged, expect: tuple[str, ...] = ()) -> Ran:
    verdict = Verdict(outcome=outcome, sentence="", drill=DRILL.id, lane=Lane.CPU)
    return Ran(Specimen(kind, Path(f"{name}.py"), HOSTILE, "Why?", expect), verdict, results, None, 0.0)


def checked() -> Checked:
    wrong = judged(HOSTILE, Outcome.WRONG_ANSWER, detail=HOSTILE)
    runs = (
        ran("starter", "starter", Outcome.WRONG_ANSWER, wrong),
        ran("correct", "plain", Outcome.ACCEPTED, judged("seen", Outcome.ACCEPTED, visible=True)),
        ran("correct", "refused", Outcome.WRONG_ANSWER, wrong),
        ran("mutant", "dead", Outcome.WRONG_ANSWER, wrong, expect=("wrong_answer",)),
        ran("mutant", "living", Outcome.ACCEPTED, judged("seen", Outcome.ACCEPTED), expect=("wrong_answer",)),
        ran("mutant", "not_told", Outcome.GRADER_PROBLEM, expect=("wrong_answer",)),
    )
    matrix = build_matrix(DRILL, runs)
    return Checked(DRILL, ("seen", HOSTILE), frozenset({HOSTILE}), runs, matrix, (), 2.5)


def test_a_mutant_that_got_through_or_was_not_judged_counts_as_alive() -> None:
    lines = list(table([checked()]))
    assert [line.split() for line in lines][1:] == [
        [DRILL.id, "2", "1", "of", "3", "2", "1", "of", "2", "2.5", "s"],
        ["all", "2", "1", "of", "3", "2", "1", "of", "2", "2.5", "s"],
    ]
    assert len(set(map(len, lines))) == 1, "figures stand below their headings"


def test_the_page_shows_each_run_and_escapes_all_of_it(tmp_path: Path) -> None:
    path = gate_report.write(tmp_path / "new" / "folder", [checked()])
    text = path.read_text(encoding="utf-8")
    assert "<script" not in text and "&lt;script&gt;" in text
    rows = re.findall(r'<th scope="row".*?</tr>', text, re.DOTALL)
    assert [re.search(r">([\w]+)</th>", row)[1] for row in rows] == ["starter", "dead", "living", "not_told"]  # type: ignore[index]
    cells = [re.findall(r'<td class="(killed|passed|not-run)"', row) for row in rows]
    assert cells == [["not-run", "killed"], ["not-run", "killed"], ["passed", "not-run"], ["not-run", "not-run"]]
    assert ['class="ends fail"' in row for row in rows] == [False, False, True, True]
    assert "0.020" in text and "1 of 3" in text


def test_it_needs_no_other_file() -> None:
    text = gate_report.page([checked()])
    assert not re.search(r"(?:src|href)=\"(?!#)", text) and "@import" not in text
    assert all(url.startswith("data:") for url in re.findall(r"url\(\"?([^)]{0,20})", text))
    assert "prefers-color-scheme: dark" in text
