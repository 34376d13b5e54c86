from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from app.course.compile import compile_course
from app.course.drills import read_drills
from app.course.snapshot import Snapshot

HERE = Path(__file__).parent
GOOD, DRILLS = HERE / "good", HERE / "drills"


@pytest.fixture(scope="session")
def small() -> Snapshot:
    """The course of the `good` folder: two cards, four questions, a track."""
    compiled = compile_course(GOOD, read_drills(DRILLS))
    assert compiled.snapshot is not None, compiled.problems
    return compiled.snapshot


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the `good` folder to change."""
    shutil.copytree(GOOD, tmp_path / "content")
    return tmp_path / "content"
