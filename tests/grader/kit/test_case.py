"""A suite as it is written: faults are found before anybody is graded with it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from grader.kit import Axis, Case, Suite, faults_of, lengths, tile_block


def suite(*cases: Case) -> Suite:
    axes = (Axis("rows", "row", "rows"), Axis("cols", "column", "columns", tiled=True))
    return Suite(axes=axes, cases=cases, play=lambda case, rng: iter(()), probes=(), independent={})  # type: ignore[arg-type, return-value]


SEEN = Case("a", "tail", {"rows": 1, "cols": 65}, visible=True)
HIDDEN = replace(SEEN, name="b", visible=False)


def test_a_good_suite_has_no_faults() -> None:
    assert faults_of(suite(SEEN, HIDDEN)) == []


@pytest.mark.parametrize(
    ("cases", "words"),
    [
        ((), "no cases"),
        ((SEEN,), "no case is hidden"),
        ((HIDDEN,), "no case is visible"),
        ((SEEN, HIDDEN, HIDDEN), "appears twice"),
        ((SEEN, replace(HIDDEN, data="nromal")), "has data 'nromal'"),
        ((SEEN, replace(HIDDEN, dtype="fp8")), "has dtype 'fp8'"),
        ((SEEN, replace(HIDDEN, layout="wavy")), "has layout 'wavy'"),
        ((SEEN, replace(HIDDEN, dims={"rows": 1})), "gives dims ['rows']"),
    ],
)
def test_faults_are_named(cases: tuple[Case, ...], words: str) -> None:
    assert any(words in fault for fault in faults_of(suite(*cases)))


def test_cases_around_blocks_must_be_hidden() -> None:
    wrong = replace(suite(SEEN, HIDDEN), around=lambda blocks: (replace(SEEN, name="c"),))
    assert any("must be hidden" in fault for fault in faults_of(wrong))


def test_shapes_in_words() -> None:
    assert suite(SEEN).shape_words(SEEN) == "1 row × 65 columns"
    assert suite(SEEN).shape_words(SEEN.resized("rows", 3)) == "3 rows × 65 columns"


def test_lengths_around_a_block() -> None:
    assert list(lengths(16).values()) == [1, 15, 16, 17, 31, 32, 33, 49]


@pytest.mark.parametrize(
    ("blocks", "longest", "found"),
    [((), 100, None), ((64,), 100, 64), ((64, 128), 100, 64), ((128,), 100, None), ((1, 16, 64), 100, 64)],
)
def test_the_block_that_cuts_tiles(blocks: tuple[int, ...], longest: int, found: int | None) -> None:
    assert tile_block(blocks, longest) == found


def test_settings_are_said_beside_the_data() -> None:
    case = replace(SEEN, settings={"causal": True, "window": 64}, layout="padded")
    assert suite(case).data_words(case) == "normal values, causal, window 64, rows longer than the view"
    assert suite(SEEN).data_words(replace(SEEN, settings={"causal": False})) == "normal values, not causal"
    assert suite(SEEN).data_words(replace(SEEN, data="")) == ""
