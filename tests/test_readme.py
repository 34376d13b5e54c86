"""What the README counts is there, with room for a few more of each. Its measured figures are dated, and linked."""

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
