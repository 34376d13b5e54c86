from __future__ import annotations

import json
import re
from fractions import Fraction

import pytest

from app.course.expression import Quantity
from app.course.quantities import number_text, plain_text, quantity_text
from app.course.units import NUMBER_WITH_UNIT, parse_unit
from app.course.worked import LONGEST_OPEN, Worked, read_worked, worked_html

BLOCK = """title The score matrix of one head
given  N = 8192         | query and key length
given  b = 2 B          | bytes a score
given  bw = 3.35 TB/s   | bandwidth <& its "quotes'
step   S = N**2 * b -> MiB   | one pass
result t = 4*S / bw -> µs .1 | four passes
"""


def block(text: str = BLOCK) -> Worked:
    found, problems = read_worked("s", text, "f.md", 1)
    assert problems == []
    assert found is not None
    return found


def test_values_are_exact_and_shown_in_their_unit() -> None:
    rows = {row.name: row for row in block().rows}
    assert rows["S"].quantity == Quantity(Fraction(2**27), (1, 0, 0, 0))
    assert rows["S"].text == "128\u202fMiB"
    assert rows["t"].text == "≈\u202f160.3\u202fµs"


def test_the_page_gets_the_formulas_as_data() -> None:
    html = worked_html(block())
    match = re.search(r"data-worked='([^']*)'", html)
    assert match
    data = json.loads(match[1].replace("&#39;", "'").replace("&lt;", "<").replace("&amp;", "&"))
    assert data[3] == {
        "kind": "step",
        "name": "S",
        "unit": "MiB",
        "factor": "1048576",
        "decimals": None,
        "tree": ["*", ["**", "N", "2"], "b"],
    }
    assert data[0]["value"] == "8192"


def test_what_is_given_travels_with_every_digit() -> None:
    rows = block("title T\ngiven tiny = 0.00000012345678 s | a time\nresult r = tiny | the same").rows
    assert plain_text(Fraction(rows[0].quantity.value)) == "0.00000012345678"


def test_a_unit_may_not_hang_on_an_input() -> None:
    text = "title T\ngiven b = 2 B | bytes\ngiven n = 2 | power\nresult r = b**n / b | wrong"
    found, problems = read_worked("s", text, "f.md", 1)
    assert found is None
    assert "not written out" in problems[0].what


def test_labels_are_escaped() -> None:
    assert "bandwidth &lt;&amp; its &#34;quotes&#39;" in worked_html(block())


def test_a_long_block_shows_its_results_and_folds_the_rest() -> None:
    lines = [
        "title Many",
        *(f"given a{n} = {n} | input {n}" for n in range(LONGEST_OPEN)),
        "result r = a1 + a2 | sum",
    ]
    html = worked_html(block("\n".join(lines)))
    assert html.index('class="worked-result"') < html.index("<details>") < html.index('class="worked-given"')


@pytest.mark.parametrize(
    ("value", "decimals", "text"),
    [
        (Fraction(8192), None, "8,192"),
        (Fraction(17, 32), None, "0.53125"),
        (Fraction(1, 3), None, "0.3333"),
        (Fraction(7504658432, 10**9), None, "7.505"),
        (Fraction(5, 1000), 2, "0.01"),  # half up on the exact value
        (Fraction(-5, 1000), 2, "-0.01"),
        (Fraction(1, 4) ** 64, None, "2.939 × 10⁻³⁹"),
        (Fraction(0), None, "0"),
        (Fraction(0), 3, "0.000"),
        (0.1353352832366127, 3, "0.135"),
        (2980.9579870417283, 0, "2,981"),
        (Fraction(10**15), None, "1,000,000,000,000,000"),
    ],
)
def test_numbers_print_as_a_reader_wants_them(value: Fraction | float, decimals: int | None, text: str) -> None:
    assert number_text(value, decimals) == text


def test_every_rounding_is_marked() -> None:
    third = Quantity(Fraction(1, 3))
    assert quantity_text(third, parse_unit(""), None).startswith("≈")
    assert quantity_text(third, parse_unit("%"), 1) == "≈\u202f33.3\u202f%"
    assert quantity_text(Quantity(Fraction(1, 4)), parse_unit("%"), None) == "25\u202f%"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("128 MiB and", ["128 MiB"]),
        ("at 3.35 TB/s", ["3.35 TB/s"]),
        ("30 % of", ["30 %"]),
        ("5ms", ["5ms"]),
        ("(16 GB)", ["16 GB"]),
        ("2 B each, 3 s", ["2 B", "3 s"]),
        ("Llama 3.1 8B and 70B, in the 1990s", []),
        ("a 16-bit float", []),
        ("fp16 and 8,192 tokens", []),
        ("0.001 for instance", []),
        ("section 3.1 B-tree", []),
    ],
)
def test_numbers_with_a_unit_are_recognised(text: str, found: list[str]) -> None:
    assert [match.strip() for match in NUMBER_WITH_UNIT.findall(text)] == found
