"""Each drill has an editorial that shows its matrix and its code, three hints, and a place on the path."""

from __future__ import annotations

import csv
import io
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from app.course.compile import compile_course
from app.course.drills import read_drills
from app.course.snapshot import Snapshot
from grader.drill import Drill, load_drills
from tests.content.test_content import close

ROOT = Path(__file__).parents[2]
DRILLS = load_drills(ROOT / "drills")
MEASURED = sorted((ROOT / "drills").glob("*/measured/*.py"))
LEVELS = ("Foundational", "Core", "Advanced")


@pytest.fixture(scope="module")
def course() -> Snapshot:
    compiled = compile_course(ROOT / "content", read_drills(ROOT / "drills"))
    assert compiled.snapshot is not None, "\n".join(str(problem) for problem in compiled.problems)
    return compiled.snapshot


@pytest.mark.parametrize("drill", DRILLS.values(), ids=lambda drill: drill.id)
def test_every_drill_has_an_editorial(drill: Drill, course: Snapshot) -> None:
    sections = course.editorials.get(drill.id, ())
    titles = [section.title for section in sections]
    assert titles[:3] == ["How the fault shows", "How to find it", "The kill matrix"], titles
    assert len(titles) > 3, "and the code, line by line"
    html = "".join(section.html for section in sections)
    assert html.count('class="kill-matrix"') >= 1
    assert 'class="excerpt"' in html
    assert 'class="at"' in html, "a line of the code is explained"
    assert 'class="table-scroll kills" tabindex="0"' in html, "it scrolls by keyboard"
    assert not re.search(r"<[^>]+\sstyle=", html)
    assert len(html) < 250_000


@pytest.mark.parametrize("path", MEASURED, ids=lambda path: f"{path.parts[-3]}.{path.stem}")
def test_a_measurement_prints_what_is_shown(path: Path) -> None:
    done = subprocess.run(
        [sys.executable, path],
        capture_output=True,
        text=True,
        check=True,
        timeout=100,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    printed = list(csv.reader(io.StringIO(done.stdout)))
    shown = list(csv.reader(io.StringIO(path.with_suffix(".csv").read_text(encoding="utf-8"))))
    assert [len(row) for row in printed] == [len(row) for row in shown]
    for got, want in zip(printed, shown, strict=True):
        assert all(one == other or close(one, other) for one, other in zip(got, want, strict=True)), (got, want)


@pytest.mark.parametrize("drill", DRILLS.values(), ids=lambda drill: drill.id)
def test_hints_are_a_ladder_of_three(drill: Drill) -> None:
    assert len(drill.hints) == 3
    assert len(set(drill.hints)) == 3


def test_the_path_leads_from_the_first_drill_to_every_other() -> None:
    """Whoever has passed nothing can begin, and passing what is open opens everything in the end."""
    passed: set[str] = set()
    while opened := {drill.id for drill in DRILLS.values() if set(drill.needs) <= passed} - passed:
        passed |= opened
    assert passed == set(DRILLS)
    for drill in DRILLS.values():
        assert drill.needs or (drill.level == "Foundational" and drill.framework == "numpy"), drill.id
        easier = [LEVELS.index(DRILLS[need].level) <= LEVELS.index(drill.level) for need in drill.needs]
        assert all(easier), f"{drill.id} needs something harder than itself"


def test_the_path_is_drawn_as_it_is() -> None:
    """docs/authors.md lists every drill with what opens it."""
    text = (ROOT / "docs" / "authors.md").read_text(encoding="utf-8")
    table = text.split("### The path")[1].split("\n\n")[2]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]
    drawn = {name.strip("`"): (level, set(re.findall(r"`(\w+)`", needs))) for name, level, needs in rows}
    assert drawn == {drill.id: (drill.level, set(drill.needs)) for drill in DRILLS.values()}


def test_tracks_take_every_drill_and_in_an_order_that_opens_it(course: Snapshot) -> None:
    taken = {step.id for track in course.tracks.values() for step in track.steps if step.kind.value == "drill"}
    assert taken == set(DRILLS)
    for track in course.tracks.values():
        seen: list[str] = []
        for step in track.steps:
            if step.kind.value == "drill":
                late = [need for need in DRILLS[step.id].needs if need in {s.id for s in track.steps} - set(seen)]
                assert not late, f"{track.id}: {step.id} stands before {late}"
                seen.append(step.id)
