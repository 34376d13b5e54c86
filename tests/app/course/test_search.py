"""Search finds what a reader would look for, and nothing that the reader may not see has any effect on it."""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path

import pytest

from app.course.access import NOTHING, Opened, View, visible_to
from app.course.compile import compile_course
from app.course.drills import read_drills
from app.course.index import build_index, stem, words_of
from app.course.search import LONGEST_QUERY, SNIPPET_WORDS, Hit, search, shows
from app.course.snapshot import Snapshot

ROOT = Path(__file__).parents[3]


@dataclass(frozen=True)
class Person:
    role: str


VIEWS = [
    (None, NOTHING),
    (Person("learner"), NOTHING),
    (Person("learner"), Opened(course=True)),
    (Person("learner"), Opened(passed=frozenset(["tiled_softmax"]))),
    (Person("author"), NOTHING),
]


@pytest.fixture(scope="module")
def course() -> Snapshot:
    snapshot = compile_course(ROOT / "content", read_drills(ROOT / "drills")).snapshot
    assert snapshot is not None
    return snapshot


def found(view: View, query: str, most: int = 30) -> list[Hit]:
    return search(view.snapshot.search, view, query, most)


@pytest.mark.parametrize(
    ("query", "href"),
    [
        ("online softmax", "/cards/online-softmax"),
        ("kv cache", "/cards/kv-cache"),
        ("ridge", "/glossary#term-ridge"),
        ("speculat", "/cards/speculative-decoding"),
        ("NaN guard", "/cards/online-softmax#the-guard-for-a-row-without-keys"),
        ("Two FLOPs per parameter", "/questions/two-flops-per-parameter"),
        ("tiled softmax", "/drills/tiled_softmax"),
        ("napkin", "/topics/napkin"),
        ("KV-CACHE?", "/cards/kv-cache"),
        ("flash", "/cards/flashattention-internals"),
    ],
)
def test_what_is_looked_for_is_among_the_first(course: Snapshot, query: str, href: str) -> None:
    assert href in [hit.passage.href for hit in found(visible_to(None, course), query)[:4]]


def test_every_item_is_found_by_its_own_title(course: Snapshot) -> None:
    view = visible_to(None, course)
    for shelf in (view.cards, view.questions, view.tracks):
        for item in shelf.values():
            assert item.id in [hit.passage.id for hit in found(view, item.title)[:3]], item.title


@pytest.mark.parametrize(("viewer", "opened"), VIEWS)
def test_what_a_reader_may_not_see_changes_nothing(course: Snapshot, viewer: Person | None, opened: Opened) -> None:
    view = visible_to(viewer, course, opened)
    alone = build_index(passage for passage in course.search.passages if shows(view, passage))
    draw = random.Random(5)
    hidden = [passage for passage in course.search.passages if not shows(view, passage)]
    secret = sorted({word for passage in hidden for word in words_of(passage.text)})
    assert bool(secret) == (viewer is None or (viewer.role == "learner" and not opened.course))
    queries = [*draw.sample(course.search.vocabulary, 150), *draw.sample(secret, min(len(secret), 150))]
    queries += [f"{draw.choice(queries)} {draw.choice(queries)[:4]}" for _ in range(60)]
    for query in queries:
        assert found(view, query) == search(alone, view, query, 30), query


def test_an_unlock_makes_an_answer_findable(course: Snapshot) -> None:
    stranger = visible_to(None, course)
    open_words = {word for each in course.search.passages if shows(stranger, each) for word in words_of(each.text)}
    tried = 0
    for question in course.questions.values():
        if stranger.may_read_answer(question):
            continue
        unlocked = visible_to(None, course, Opened(items=frozenset([question.link])))
        secret = {word for section in question.answer for word in words_of(section.text)} - open_words
        for word in sorted(secret)[:3]:
            assert question.id not in [hit.passage.id for hit in found(stranger, word)]
            assert any(hit.passage.guarded and hit.passage.id == question.id for hit in found(unlocked, word)), word
            tried += 1
    assert tried > 10


def test_a_pass_makes_an_editorial_findable(course: Snapshot) -> None:
    stranger = visible_to(Person("learner"), course)
    open_words = {word for each in course.search.passages if shows(stranger, each) for word in words_of(each.text)}
    for name, sections in course.editorials.items():
        passed = visible_to(Person("learner"), course, Opened(passed=frozenset([name])))
        secret = {word for section in sections for word in words_of(section.text)} - open_words
        assert secret, name
        for word in sorted(secret)[:3]:
            assert name not in [hit.passage.id for hit in found(stranger, word)], word
            places = [hit.passage.href for hit in found(passed, word)]
            assert any(place.startswith(f"/drills/{name}/editorial#") for place in places), word


@pytest.mark.parametrize(
    "query",
    [
        "",
        "   ",
        '"',
        "AND OR NOT NEAR(",
        "a* OR b^2",
        "\x00\x1b[31m",
        "\ud800 softmax",
        "' OR 1=1 --",
        "<script>alert(1)</script>",
        "{{7*7}} %s",
        "\u202etxet",
        "softmax " * 4000,
        "ß ﬁ ½ 🙂",
        "(((((",
        ".*+?[",
    ],
)
def test_any_query_is_answered(course: Snapshot, query: str) -> None:
    for hit in found(visible_to(None, course), query):
        assert any(piece.hit for piece in (*hit.title, *hit.snippet)) or hit.passage.heading or hit.passage.tags


def test_a_long_query_costs_no_more_than_its_beginning(course: Snapshot) -> None:
    view = visible_to(None, course)
    assert found(view, "ridge " * 1000) == found(view, ("ridge " * 1000)[:LONGEST_QUERY])


def test_snippets_are_cut_from_the_passage_and_show_the_hit(course: Snapshot) -> None:
    for hit in found(visible_to(None, course), "rescale"):
        text = "".join(piece.text for piece in hit.snippet).removeprefix("… ").removesuffix(" …")
        assert text in hit.passage.text
        assert len(text.split()) <= SNIPPET_WORDS
        assert all(stem(piece.text).startswith("rescal") for piece in hit.snippet if piece.hit)


def test_items_with_all_words_come_alone(course: Snapshot) -> None:
    view = visible_to(None, course)
    both = {hit.passage.owner for hit in found(view, "ridge batch")}
    assert both <= {hit.passage.owner for hit in found(view, "ridge")} & {
        hit.passage.owner for hit in found(view, "batch")
    }
    assert both
