"""`tilewright check content`: everything that is wrong with the content, at once."""

from __future__ import annotations

from pathlib import Path

from app.course.compile import compile_course
from app.course.drills import read_drills
from app.course.numbers import numbers_table
from app.course.problems import Problem


def check(content: Path, drills: Path) -> list[Problem]:
    """Every problem of the content folder, sorted by file and line. Empty: it may be published."""
    return list(compile_course(content, read_drills(drills)).problems)


def numbers_of(content: Path, drills: Path) -> str:
    """Every worked number as Markdown; empty while problems keep the course from being compiled."""
    snapshot = compile_course(content, read_drills(drills)).snapshot
    return "" if snapshot is None else numbers_table(snapshot)
