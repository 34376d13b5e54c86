from __future__ import annotations

import ast
import dataclasses
import re
import threading
import time
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from app.course.compile import compile_course, digest
from app.course.drills import read_drills
from app.course.models import Kind, Link
from app.course.snapshot import Snapshot
from app.course.store import ContentError, CourseStore
from tests.app.course.conftest import DRILLS, GOOD

SCALARS = (str, int, bool, float, Fraction, frozenset, Path, ast.expr)


def assert_frozen(value: Any, where: str) -> None:
    """Nothing reachable from a snapshot can be changed in place."""
    if dataclasses.is_dataclass(value):
        assert value.__dataclass_params__.frozen, where  # type: ignore[union-attr]
        for field in dataclasses.fields(value):
            assert_frozen(getattr(value, field.name), f"{where}.{field.name}")
    elif isinstance(value, Mapping):
        assert not hasattr(value, "__setitem__"), where
        for key, inner in value.items():
            assert_frozen(inner, f"{where}[{key}]")
    elif isinstance(value, tuple):
        for index, inner in enumerate(value):
            assert_frozen(inner, f"{where}[{index}]")
    else:
        assert value is None or isinstance(value, SCALARS), f"{where} is a {type(value)}"


def test_a_snapshot_cannot_be_changed(small: Snapshot) -> None:
    assert_frozen(small, "snapshot")
    with pytest.raises(dataclasses.FrozenInstanceError):
        small.title = "x"  # type: ignore[misc]


def test_a_card_has_its_parts(small: Snapshot) -> None:
    card = small.cards["alpha"]
    assert [section.id for section in card.sections] == ["how"]
    assert card.drills == ("adding",)
    assert "1\u202fKiB" in card.front
    assert 'class="num"' in card.front
    how = card.sections[0].html
    assert '<figure class="figure" id="fig-shape">' in how
    assert "1\u202fKiB</text>" in how, "figures take their numbers from worked blocks as well"
    assert '<figure class="worked" id="worked-parts"' in how
    assert '<a class="cite" href="#source-euclid"' in how
    assert '<span class="num" data-ref="table/two/square">4</span>' in how
    assert "2\u202fKiB" in card.prompts[0].answer
    assert 'class="katex"' in card.prompts[0].answer


def test_a_question_keeps_its_answer_out_of_its_open_text(small: Snapshot) -> None:
    question = small.questions["first"]
    assert [section.title for section in question.answer] == [""]
    assert "secret" in question.answer[0].html
    assert "secret" not in question.text + question.summary + question.teaser + question.question


def test_the_order_is_the_order_of_course_toml(small: Snapshot) -> None:
    assert list(small.cards) == ["alpha", "beta"]
    assert list(small.questions) == ["first", "second", "third", "fourth"]
    assert small.tracks["path"].steps[1] == Link(Kind.DRILL, "adding")
    assert small.terms["sum"].see == Link(Kind.CARD, "alpha")
    assert small.aliases[Link(Kind.CARD, "old-alpha")] == Link(Kind.CARD, "alpha")


def test_compiling_twice_gives_the_same(small: Snapshot) -> None:
    again = compile_course(GOOD, read_drills(DRILLS)).snapshot
    assert again == small


def test_the_digest_names_the_content(folder: Path) -> None:
    drills = read_drills(DRILLS)
    before = digest(folder, drills)
    path = folder / "concepts" / "beta.md"
    text = path.read_text()
    path.write_text(text + "\n")
    assert digest(folder, drills) != before
    path.write_text(text)
    assert digest(folder, drills) == before


def test_the_first_compile_must_succeed(folder: Path) -> None:
    (folder / "course.toml").unlink()
    with pytest.raises(ContentError, match=r"course\.toml:1: course\.toml is missing; add it"):
        CourseStore.open(folder, DRILLS)


def test_a_broken_file_leaves_the_last_good_version_live(folder: Path) -> None:
    store = CourseStore.open(folder, DRILLS)
    before = store.current
    path = folder / "concepts" / "beta.md"
    text = path.read_text()
    path.write_text(text.replace("$a+b=b+a$", "$\\frac{a$"))
    assert store.reload() is False
    assert store.current is before
    assert [problem.rule for problem in store.problems] == ["math"]
    path.write_text(text.replace("title: Beta", "title: Beta, mended"))
    assert store.reload() is True
    assert store.problems == ()
    assert store.current.cards["beta"].title == "Beta, mended"
    assert before.cards["beta"].title == "Beta", "a page that is being made keeps its snapshot"


def test_changes_are_noticed(folder: Path) -> None:
    store = CourseStore.open(folder, DRILLS)
    stop = threading.Event()
    thread = threading.Thread(target=store.watch, args=(stop,))
    thread.start()
    try:
        path = folder / "concepts" / "beta.md"
        text = path.read_text().replace("title: Beta", "title: Beta, seen")
        deadline = time.monotonic() + 20
        while store.current.cards["beta"].title != "Beta, seen" and time.monotonic() < deadline:
            path.write_text(text)  # again and again: the watcher may not have started yet
            time.sleep(0.2)
        assert store.current.cards["beta"].title == "Beta, seen"
    finally:
        stop.set()
        thread.join(timeout=10)
    assert not thread.is_alive()


def test_statements_of_drills_share_the_stylesheet(small: Snapshot) -> None:
    html = small.statements["adding"]
    assert '<a href="/cards/alpha#how">alpha</a>' in html
    assert 'class="katex"' in html
    named = set(re.findall(r"\bk-[0-9a-z]+\b", html))
    assert named
    assert all(f".{name}{{" in small.math_css for name in named)


def test_what_nobody_can_reach_is_a_problem_but_blocks_nothing(folder: Path) -> None:
    text = (folder / "figures" / "shape.svg").read_text()
    (folder / "figures" / "other.svg").write_text(
        text.replace("fig-shape", "fig-other").replace("{{parts.a}}", "x")
    )
    course = folder / "course.toml"
    course.write_text(course.read_text().replace('"alpha", "beta"', '"alpha"'))
    store = CourseStore.open(folder, DRILLS)
    assert {problem.rule for problem in store.problems} == {"unreachable"}
    assert list(store.current.cards) == ["alpha"]
