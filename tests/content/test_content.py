"""The course that ships: it compiles without a problem, its numbers hold, its listings print what is shown."""

from __future__ import annotations

import csv
import io
import math
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from app.course.check import check, numbers_of
from app.course.compile import compile_course
from app.course.drills import read_drills
from app.course.snapshot import Snapshot
from app.course.source import read_document
from app.course.units import parse_unit
from app.course.worked import Worked, read_worked

ROOT = Path(__file__).parents[2]
CONTENT, DRILLS = ROOT / "content", ROOT / "drills"
FILES = sorted(path for folder in ("concepts", "questions", "tracks") for path in (CONTENT / folder).glob("*.md"))
LISTINGS = sorted((CONTENT / "listings").glob("*.py"))


def blocks(path: Path) -> dict[str, Worked]:
    found = {}
    for name, text in re.findall(
        r"^```worked (\w+)\n(.*?)^```", read_document(path, CONTENT).body, re.MULTILINE | re.DOTALL
    ):
        block, problems = read_worked(name, text, path.name, 1)
        assert block is not None, problems
        found[name] = block
    return found


@pytest.fixture(scope="module")
def course() -> Snapshot:
    compiled = compile_course(CONTENT, read_drills(DRILLS))
    assert compiled.snapshot is not None, "\n".join(str(problem) for problem in compiled.problems)
    return compiled.snapshot


def test_the_table_of_worked_numbers_is_current() -> None:
    written = (ROOT / "docs" / "measured" / "worked-numbers.md").read_text(encoding="utf-8")
    mend = "tilewright check content --numbers > docs/measured/worked-numbers.md"
    assert written == numbers_of(CONTENT, DRILLS), mend


def test_the_content_has_no_problems() -> None:
    assert [str(problem) for problem in check(CONTENT, DRILLS)] == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_worked_number_is_confirmed_by_other_arithmetic(path: Path) -> None:
    """Python's own floats, in base units, against the exact evaluator."""
    functions = {name: getattr(math, name) for name in ("exp", "log", "log2", "sqrt", "ceil", "floor")} | {
        "max": max,
        "min": min,
    }
    for block in blocks(path).values():
        names: dict[str, Any] = {}
        text = next(
            t
            for n, t in re.findall(r"^```worked (\w+)\n(.*?)^```", path.read_text(), re.M | re.S)
            if n == block.name
        )
        for line in text.splitlines():
            match = re.match(r"(given|step|result)\s+(\w+)\s*=\s*(.*?)\s*(?:->.*)?\|", line)
            if match is None:
                continue
            kind, name, expression = match.groups()
            if kind == "given":
                number, _, unit = expression.strip().partition(" ")
                names[name] = float(number) * float(parse_unit(unit).factor)
            else:
                names[name] = eval(expression, {"__builtins__": {}}, {**functions, **names})
            row = block.row(name)
            assert row is not None
            assert float(row.quantity.value) == pytest.approx(names[name], rel=1e-9), f"{block.name}.{name}"


KNOWN = {
    "flashattention-internals": {
        "traffic.S": "128 MiB",
        "traffic.passes": "512 MiB",
        "traffic.io": "8 MiB",
        "traffic.work": "≈ 34.36 GFLOP",
        "traffic.memory": "≈ 160.3 µs",
        "traffic.compute": "≈ 34.7 µs",
        "reread.loads": "256 MiB",
        "chip.shared": "160 KiB",
        "chip.regs": "128",
        "kept.p": "4 GiB",
        "kept.lse": "1 MiB",
        "kept.more": "2.5",
        "loops.spill": "256 MiB",
        "loops.many": "2,048",
        "exp.unit": "≈ 3.86 TFLOP/s",
    },
    "online-softmax": {
        "tiles.out": "≈ 1.449",
        "stall.stop16": "2,048",
        "stall.stopb": "256",
        "phantom.ratio": "≈ 2,981",
    },
    "fused-kernel-drift": {"phantom.e1": "≈ 0.48 %", "rounding.least": "≈ 0.049 %"},
}


@pytest.mark.parametrize("item", KNOWN)
def test_the_figures_of_the_brief_stand(item: str) -> None:
    path = next(path for path in FILES if path.stem == item)
    found = blocks(path)
    for name, text in KNOWN[item].items():
        row = found[name.split(".")[0]].row(name.split(".")[1])
        assert row is not None, name
        assert row.text.replace("\u202f", " ") == text, name


def test_online_softmax_agrees_with_the_textbook() -> None:
    tiles = blocks(CONTENT / "concepts" / "online-softmax.md")["tiles"]
    out, direct = tiles.row("out"), tiles.row("direct")
    assert out is not None
    assert direct is not None
    assert float(out.quantity.value) == pytest.approx(float(direct.quantity.value), rel=1e-14)


@pytest.mark.parametrize("path", LISTINGS, ids=lambda path: path.stem)
def test_a_listing_prints_what_is_shown(path: Path) -> None:
    done = subprocess.run([sys.executable, path], capture_output=True, text=True, check=True, timeout=100)
    printed = list(csv.reader(io.StringIO(done.stdout)))
    shown = list(csv.reader(io.StringIO(path.with_suffix(".csv").read_text())))
    assert len(printed) == len(shown)
    for got, want in zip(printed, shown, strict=True):
        assert len(got) == len(want)
        for one, other in zip(got, want, strict=True):
            assert one == other or close(one, other), (got, want)


def close(one: str, other: str) -> bool:
    """One significant digit may round either way when sums are taken in another order, on another processor."""
    try:
        a, b = float(one), float(other)
    except ValueError:
        return False
    return abs(a - b) <= 1.01 * 10.0 ** math.floor(math.log10(b))


def test_every_page_stays_light(course: Snapshot) -> None:
    """The HTML of a card, before the frame round it and before compression."""
    for card in course.cards.values():
        size = len(card.front) + sum(len(section.html) for section in card.sections)
        assert size < 120_000, f"{card.id}: {size} characters"


def test_no_text_of_the_course_needs_inline_style(course: Snapshot) -> None:
    for card in course.cards.values():
        for part in (card.front, *(section.html for section in card.sections)):
            assert not re.search(r"<[^>]+\sstyle=", part)
