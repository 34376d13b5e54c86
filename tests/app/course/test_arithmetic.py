"""The page's arithmetic against the server's: every block as written and with other inputs, and random trees."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import quickjs

from app.course.compile import compile_course
from app.course.drills import read_drills
from app.course.expression import ExpressionError, Quantity, evaluate, parse, tree_of
from app.course.quantities import plain_text, quantity_text
from app.course.units import parse_unit
from app.course.worked import Worked, read_worked, worked_data

ROOT = Path(__file__).parents[3]
SCRIPT = ROOT / "app" / "static" / "js" / "arithmetic.js"

Compute = Callable[[list[Any], Mapping[str, str]], dict[str, dict[str, str]]]


@pytest.fixture(scope="module")
def compute() -> Compute:
    """The module's `compute`, in the JavaScript engine that sets the formulas."""
    source = SCRIPT.read_text(encoding="utf-8").replace("export {", "globalThis.exported = {")
    call = "function call(text) { return JSON.stringify(compute(...JSON.parse(text))); }"
    function = quickjs.Function("call", source + call)
    function.set_time_limit(5)
    return lambda rows, inputs: json.loads(function(json.dumps([rows, inputs]), run_gc=False))


@pytest.fixture(scope="module")
def blocks() -> list[Worked]:
    snapshot = compile_course(ROOT / "content", read_drills(ROOT / "drills")).snapshot
    assert snapshot is not None
    return [block for blocks in snapshot.worked.values() for block in blocks]


def server(block: Worked, inputs: Mapping[str, Fraction]) -> dict[str, dict[str, str]]:
    """What the compiler would print if the author had given `inputs`, which are in the units of their rows."""
    names: dict[str, Quantity] = {}
    found = {}
    for row in block.rows:
        value = row.quantity
        if row.name in inputs:
            value = Quantity(inputs[row.name] * row.unit.factor, row.unit.powers)
        try:
            if row.formula is not None:
                value = evaluate(row.formula, names)
            names[row.name] = value
            found[row.name] = {"text": quantity_text(value, row.unit, row.decimals)}
        except ExpressionError:
            found[row.name] = {}
    return found


def texts(found: Mapping[str, Mapping[str, str]]) -> dict[str, str | None]:
    return {name: each.get("text") for name, each in found.items()}


def test_every_block_of_the_course_comes_out_as_printed(compute: Compute, blocks: list[Worked]) -> None:
    assert len(blocks) > 60
    for block in blocks:
        printed: dict[str, str | None] = {row.name: row.text for row in block.rows}
        assert texts(compute(worked_data(block), {})) == printed, block.name


@pytest.mark.parametrize("seed", range(4))
def test_every_block_agrees_on_other_inputs(compute: Compute, blocks: list[Worked], seed: int) -> None:
    draw = random.Random(seed)
    told = 0
    for block in blocks:
        inputs = {}
        for row in block.rows:
            if row.formula is None:
                written = Fraction(row.quantity.value) / row.unit.factor
                choices = [
                    Fraction(0),
                    Fraction(1),
                    written / 2,
                    written * 3,
                    written + Fraction(draw.randrange(99), 8),
                ]
                inputs[row.name] = draw.choice([*choices, Fraction(draw.randrange(1, 10**6), 1000)])
        typed = {name: plain_text(value) for name, value in inputs.items()}
        found = texts(compute(worked_data(block), typed))
        assert found == texts(server(block, inputs)), (block.name, typed)
        told += sum(text is not None for text in found.values())
    assert told > 300


def tree(draw: random.Random, depth: int) -> str:
    if depth == 0 or draw.random() < 0.15:
        return draw.choice(
            ["x", "y", str(draw.randrange(12)), f"{draw.randrange(9)}.{draw.randrange(1000):03d}", "3.2e-07"]
        )
    kind = draw.random()
    if kind < 0.6:
        sign = draw.choice(["+", "-", "*", "/", "//", "%"])
        return f"({tree(draw, depth - 1)} {sign} {tree(draw, depth - 1)})"
    if kind < 0.7:
        return f"({tree(draw, depth - 1)}) ** {draw.choice(['2', '3', '0', '-1', '-2'])}"
    if kind < 0.8:
        return f"-({tree(draw, depth - 1)})"
    if kind < 0.9:
        return f"{draw.choice(['min', 'max'])}({tree(draw, depth - 1)}, {tree(draw, depth - 1)})"
    return f"{draw.choice(['ceil', 'floor', 'exp', 'log', 'log2', 'sqrt'])}({tree(draw, depth - 1)})"


@pytest.mark.parametrize("seed", range(20))
def test_random_expressions_agree(compute: Compute, seed: int) -> None:
    draw = random.Random(1000 + seed)
    agreed = 0
    for _ in range(60):
        written = tree(draw, 4)
        if len(written) > 200:
            continue
        x, y = Fraction(draw.randrange(-40, 400), 8), Fraction(draw.randrange(1, 99))
        decimals = draw.choice([None, None, 0, 2, 5])
        unit = draw.choice(["", "KiB", "bit", "%", "ms"])
        row = {"kind": "result", "name": "r", "unit": unit, "factor": str(parse_unit(unit).factor)}
        given = [
            {"kind": "given", "name": name, "unit": "", "factor": "1", "decimals": None, "value": plain_text(value)}
            for name, value in (("x", x), ("y", y))
        ]
        node = parse(written)
        try:
            value = evaluate(node, {"x": Quantity(x), "y": Quantity(y)})
            expected: str | None = quantity_text(value, parse_unit(unit), decimals)
        except ExpressionError:
            expected = None
        found = compute([*given, row | {"decimals": decimals, "tree": tree_of(node)}], {})["r"]
        assert found.get("text") == expected, (written, x, y, found)
        agreed += expected is not None
    assert agreed > 20


@pytest.mark.parametrize(
    ("typed", "problem"),
    [
        ("", "Write a number."),
        ("many", "That is not a number: write digits, such as 8192 or 3.35."),
        ("1;alert(1)", "That is not a number: write digits, such as 8192 or 3.35."),
        ("NaN", "That is not a number: write digits, such as 8192 or 3.35."),
        ("1e999", "That is not a number: write digits, such as 8192 or 3.35."),
        ("-1", "An amount in B is not below zero."),
        ("1e16", "That number is too large here."),
    ],
)
def test_what_is_wrong_is_said_and_what_hangs_on_it_waits(compute: Compute, typed: str, problem: str) -> None:
    text = (
        "title T\ngiven b = 2 B | bytes\ngiven n = 4 | count\nresult all = n * b | in all\nresult c = n + 1 | more"
    )
    block, _ = read_worked("t", text, "t.md", 1)
    assert block is not None
    found = compute(worked_data(block), {"b": typed})
    assert found["b"] == {"problem": problem}
    assert found["all"] == {"problem": "This needs b."}
    assert found["c"] == {"text": "5"}


@pytest.mark.parametrize(
    ("typed", "printed"), [("8,192", "8,192"), (" 8 192 ", "8,192"), ("1e3", "1,000"), ("0.50", "0.5")]
)
def test_numbers_may_be_typed_as_they_are_printed(compute: Compute, typed: str, printed: str) -> None:
    block, _ = read_worked("t", "title T\ngiven n = 4 | count\nresult m = n | the same", "t.md", 1)
    assert block is not None
    assert compute(worked_data(block), {"n": typed})["m"] == {"text": printed}


def test_dividing_by_zero_is_said_not_printed(compute: Compute) -> None:
    block, _ = read_worked("t", "title T\ngiven n = 4 | count\nresult m = 1 / n | part", "t.md", 1)
    assert block is not None
    assert compute(worked_data(block), {"n": "0"})["m"] == {"problem": "this divides by zero"}
