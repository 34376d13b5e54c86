"""`tilewright new`: what it writes passes every check, and nothing is overwritten."""

from __future__ import annotations

import shutil
from datetime import date
from pathlib import Path

import pytest

from app.cli.scaffold import listed_in, new_drill, new_item
from app.course.compile import compile_course
from app.course.drills import read_drills
from app.course.snapshot import Snapshot
from app.errors import InvalidForm
from app.settings import Settings
from grader.drill import load_drills
from grader.specimens import read_specimens

ROOT = Path(__file__).parents[2]


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """The whole course, to add to."""
    shutil.copytree(ROOT / "content", tmp_path / "content")
    ignore = shutil.ignore_patterns("__pycache__")
    for folder in ("drills", "kernels"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=ignore)
    return Settings(content=tmp_path / "content", drills=tmp_path / "drills")


@pytest.fixture(scope="module")
def course() -> Snapshot:
    snapshot = compile_course(ROOT / "content", read_drills(ROOT / "drills")).snapshot
    assert snapshot is not None
    return snapshot


def test_new_items_pass_the_lint_and_are_drafts_in_their_topics(settings: Settings, course: Snapshot) -> None:
    topics = ("kernels", "serving", "hardware")  # a list on one line, on many, and none
    for topic in topics:
        for kind in ("concept", "question"):
            new_item(kind, f"a-{topic}-{kind}", topic, settings.content, course, date(2026, 12, 1))
    compiled = compile_course(settings.content, read_drills(settings.drills))
    assert [str(problem) for problem in compiled.problems] == []
    assert compiled.snapshot is not None
    for topic in topics:
        shelf = compiled.snapshot.topics[topic]
        assert (shelf.cards[-1], shelf.questions[-1]) == (f"a-{topic}-concept", f"a-{topic}-question")
        assert compiled.snapshot.cards[shelf.cards[-1]].draft
        assert compiled.snapshot.questions[shelf.questions[-1]].draft
    assert compiled.snapshot.cards["a-kernels-concept"].title == "A kernels concept"


def test_a_new_drill_is_read_by_the_grader_and_listed_by_the_course(settings: Settings, course: Snapshot) -> None:
    new_drill("score_matrix", "napkin", settings.drills, course)
    drill = load_drills(settings.drills)["score_matrix"]
    specimens, found = read_specimens(drill)
    assert found == []
    assert {specimen.kind for specimen in specimens} == {"starter", "correct", "mutant"}
    assert read_drills(settings.drills)["score_matrix"].title == "Score matrix"
    assert not list((settings.drills / "score_matrix").rglob("*.txt"))


@pytest.mark.parametrize(
    ("kind", "name", "topic"),
    [
        ("concept", "online-softmax", "kernels"),
        ("concept", "../evil", "kernels"),
        ("concept", "Upper", "kernels"),
        ("question", "fine", "nowhere"),
        ("drill", "kv_cache_bytes", "serving"),
        ("drill", "with-hyphen", "serving"),
        ("drill", "fine", "nowhere"),
    ],
)
def test_what_cannot_be_is_refused_and_changes_nothing(
    settings: Settings, course: Snapshot, kind: str, name: str, topic: str
) -> None:
    def state() -> dict[Path, bytes]:
        return {path: path.read_bytes() for path in settings.content.parent.rglob("*") if path.is_file()}

    before = state()
    with pytest.raises(InvalidForm):
        if kind == "drill":
            new_drill(name, topic, settings.drills, course)
        else:
            new_item(kind, name, topic, settings.content, course, date(2026, 12, 1))
    assert state() == before


def test_the_rest_of_course_toml_stays_as_it_is() -> None:
    text = (ROOT / "content" / "course.toml").read_text()
    for topic in ("kernels", "serving", "weights", "napkin", "hardware"):
        for key in ("cards", "questions"):
            lines = listed_in(text, topic, key, "a-new-one").split("\n")
            kept = [line for line in text.split("\n") if line not in lines]
            assert sum("a-new-one" in line for line in lines) == 1
            assert len(kept) <= 1  # the one line that a list on one line is
