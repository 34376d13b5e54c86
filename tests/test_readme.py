"""The figures of the README follow from the files that they come from, with room for a few more of each."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = re.sub(r"\s+", " ", (ROOT / "README.md").read_text(encoding="utf-8"))


def counted() -> dict[str, int]:
    """How many of each there are, by the words behind the figure."""
    matrices = [json.loads(each.read_text()) for each in (ROOT / "drills").glob("*/kill_matrix.json")]
    table = (ROOT / "docs" / "measured" / "worked-numbers.md").read_text(encoding="utf-8")
    blocks, numbers = (int(each) for each in re.findall(r"\d+", table.splitlines()[-1]))
    return {
        "wrong submissions": sum(len(each["faults"]) for each in matrices),
        "right ones": len(list((ROOT / "drills").glob("*/correct/*.py"))),
        "numbers": numbers,
        "`worked` blocks": blocks,
    }


@pytest.mark.parametrize("what", ["wrong submissions", "right ones", "numbers", "`worked` blocks"])
def test_more_than_it_says_and_not_many_more(what: str) -> None:
    said = re.search(rf"more than ([\d,]+) {what}", README)
    assert said is not None
    least = int(said[1].replace(",", ""))
    assert least < counted()[what] <= 1.1 * least


@pytest.mark.parametrize(
    ("case", "ratio"),
    [("row softmax", 279), ("attention S=2048 full", 100), ("packed_gqa_decode", 6), ("tiled_softmax", 4)],
)
def test_its_ratios_stand_in_the_measurements(case: str, ratio: int) -> None:
    table = (ROOT / "docs" / "measured" / "interpreter.md").read_text(encoding="utf-8")
    assert re.search(rf"^\| {case}.*\| {ratio} \|", table, re.M)
    assert re.search(rf"\b{ratio} (times|to)\b", README)


def test_its_time_to_a_verdict_was_measured() -> None:
    assert "in 1.7 s on two cores" in README
    assert "p50 1.715 s" in (ROOT / "docs" / "measured" / "verdict.md").read_text(encoding="utf-8")
