"""From a leased run to its verdict: a fault of ours says whether the machine or the code is to blame."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from app.db import Database
from app.jobs import Jobs
from app.settings import Settings
from app.submissions import service, view
from app.submissions.handed import Handed
from app.submissions.models import Submission
from app.worker import Bench, work_one
from grader.drill import load_drills
from grader.pool import Pool
from grader.results import visible_traffic
from grader.verdict import Lane, Outcome, Verdict
from tests.app.submissions.conftest import add_user, live_run
from tests.grader.callers import TOYS

pytestmark = [pytest.mark.sandbox, pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)]
TOY = "row_softmax"
RIGHT = """
import numpy as np
def softmax(x):
    w = np.exp(x - x.max(-1, keepdims=True))
    return w / w.sum(-1, keepdims=True)
"""


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with Pool(Lane.CPU, size=1, framework="numpy") as pool:
        yield pool


@pytest.fixture
def bench(settings: Settings, database: Database, queue: Jobs, pool: Pool, tmp_path: Path) -> Bench:
    """A worker's bench, with one drill that has a correct file."""
    folder = tmp_path / "drills" / TOY
    shutil.copytree(TOYS / TOY, folder)
    (folder / "correct").mkdir()
    (folder / "correct" / "plain.py").write_text(RIGHT)
    settings = settings.model_copy(update={"drills": tmp_path / "drills"})
    return Bench(settings, database, queue, "w", pool)


def grade(bench: Bench, source: str) -> Verdict:
    drills = load_drills(bench.settings.drills)
    ada = add_user(bench.database, "ada")
    handed = Handed(user=ada, drill=TOY, lane="cpu", source=source, token="token-of-a-form")
    with bench.database.write() as session:
        submission = service.submit(session, handed, drills, bench.settings, bench.queue)
    work_one(bench, live_run(bench.database, submission.id))
    with bench.database.read() as session:
        [run, *_] = service.runs_of(session, submission.id)
        assert session.get(Submission, submission.id) is not None
    assert run.verdict is not None
    return run.verdict


def test_a_verdict_is_recorded_and_no_canary_sings(bench: Bench) -> None:
    found = grade(bench, RIGHT)
    assert (found.outcome, found.problem) == (Outcome.ACCEPTED, "")


def test_a_fault_that_the_correct_file_meets_too_is_the_machine_or_the_drill(bench: Bench) -> None:
    reference = bench.settings.drills / TOY / "reference.py"
    reference.write_text("def softmax(x):\n    raise KeyError('no such disk')\n")
    found = grade(bench, "def softmax(x): return x\n")
    assert found.outcome is Outcome.GRADER_PROBLEM
    assert "no such disk" in found.problem and "It is the machine or the drill." in found.problem
    assert "plain.py" not in view.for_viewer(found, operator=False).problem


def test_a_fault_that_the_correct_file_does_not_meet_is_the_codes(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    met: list[Any] = []

    def boom(judged: Any) -> Any:
        met.append(judged)
        if len(met) == 1:
            raise LookupError("a bug of ours")
        return visible_traffic(judged)

    monkeypatch.setattr("grader.grade.visible_traffic", boom)
    found = grade(bench, "def softmax(x): return x\n")
    assert found.outcome is Outcome.GRADER_PROBLEM
    assert "a bug of ours" in found.problem and "It is this code" in found.problem
