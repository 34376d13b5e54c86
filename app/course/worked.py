"""`worked` blocks: what is given, the steps, the results. Evaluated at build, printed as a table, cited by prose.

    ```worked score_bytes
    title The score matrix of one head
    given  N = 8192                      | query and key length
    given  b = 2 B                       | bytes a score
    step   S = N**2 * b -> MiB           | one pass over the scores
    result total = 4 * S -> MiB          | write S, read S, write P, read P
    ```

A number after the unit (`-> ms .2`) fixes the decimals. Prose writes {{score_bytes.total}} or, in another unit,
{{score_bytes.total GiB .1}}.
"""

from __future__ import annotations

import ast
import json
import keyword
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from markupsafe import Markup

from app.course.expression import ExpressionError, Quantity, Tree, evaluate, parse, tree_of
from app.course.pretty import formula_html, name_html
from app.course.problems import Problem
from app.course.quantities import plain_text, quantity_text
from app.course.units import PURE, Unit, UnitError, describe, parse_unit

NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
LINE = re.compile(
    r"(?P<kind>given|step|result)\s+(?P<name>\w+)\s*=\s*(?P<value>.*?)"
    r"(?:\s*->\s*(?P<unit>[^\s.|]*)(?:\s*\.(?P<decimals>\d))?)?\s*\|\s*(?P<label>.+)"
)
LONGEST_OPEN = 16  # rows; a longer block shows its results and folds the rest away
GIVEN = re.compile(r"(?P<number>-?\d[\d_]*(?:\.\d+)?(?:e-?\d+)?)\s*(?P<unit>\D.*)?")


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a block. `tree` is None for what is given; `quantity` is in base units, `unit` is for show."""

    kind: str
    name: str
    label: str
    quantity: Quantity
    unit: Unit
    decimals: int | None
    formula: ast.expr | None = field(compare=False)  # syntax trees are equal to themselves only

    @property
    def text(self) -> str:
        return quantity_text(self.quantity, self.unit, self.decimals)


@dataclass(frozen=True, slots=True)
class Worked:
    """An evaluated block. `rows` in the author's order."""

    name: str
    title: str
    rows: tuple[Row, ...]

    def row(self, name: str) -> Row | None:
        return next((row for row in self.rows if row.name == name), None)


class WorkedError(ValueError):
    """One line that cannot stand. `offset` counts lines of the block from 0; `fix` says what to do."""

    def __init__(self, offset: int, what: str, fix: str) -> None:
        super().__init__(what)
        self.offset = offset
        self.what = what
        self.fix = fix


def read_worked(name: str, text: str, file: str, line: int) -> tuple[Worked | None, list[Problem]]:
    """Evaluate a block whose first line of text is on `line`. Every line that fails is reported."""
    title = ""
    rows: dict[str, Row] = {}
    problems: list[Problem] = []
    for offset, written in enumerate(text.splitlines()):
        if not written.strip():
            continue
        if written.startswith("title "):
            title = written.removeprefix("title ").strip()
            continue
        try:
            row = _read_row(written.strip(), offset, rows)
            rows[row.name] = row
        except WorkedError as error:
            problems.append(Problem(file, line + error.offset, "worked", error.what, error.fix))
    if not problems and not (title and any(row.kind == "result" for row in rows.values())):
        what = f"the worked block '{name}' has no title or no result"
        problems.append(Problem(file, line, "worked", what, "open it with a title line and name what it finds"))
    return (None, problems) if problems else (Worked(name, title, tuple(rows.values())), [])


def _read_row(written: str, offset: int, above: Mapping[str, Row]) -> Row:
    match = LINE.fullmatch(written)
    if match is None or NAME.fullmatch(match["name"]) is None:
        raise WorkedError(
            offset, f"'{written}' is not a worked line", "write: given|step|result name = value | label"
        )
    name = match["name"]
    if keyword.iskeyword(name):
        raise WorkedError(offset, f"'{name}' is a word of the expression language", "choose another name")
    if name in above:
        raise WorkedError(offset, f"'{name}' is set twice", "give the second one another name")
    decimals = None if match["decimals"] is None else int(match["decimals"])
    try:
        if match["kind"] == "given":
            quantity, unit = _read_given(match["value"])
            formula = None
        else:
            formula = parse(match["value"])
            quantity = evaluate(formula, {row.name: row.quantity for row in above.values()})
            unit = _unit_for(quantity, match["unit"])
    except (ExpressionError, UnitError) as error:
        raise WorkedError(offset, f"'{name}': {error}", "mend the expression or its unit") from error
    return Row(match["kind"], name, match["label"].strip(), quantity, unit, decimals, formula)


def _read_given(text: str) -> tuple[Quantity, Unit]:
    match = GIVEN.fullmatch(text.strip())
    if match is None:
        raise ExpressionError(f"'{text}' is not a number with a unit")
    unit = parse_unit(match["unit"] or "")
    return Quantity(Fraction(match["number"].replace("_", "")) * unit.factor, unit.powers), unit


def _unit_for(quantity: Quantity, wanted: str | None) -> Unit:
    if wanted:
        return fitting_unit(quantity, wanted)
    return parse_unit("" if quantity.powers == PURE else describe(quantity.powers))


def fitting_unit(quantity: Quantity, name: str) -> Unit:
    """The unit of that name, if the quantity can be told in it. Raises `UnitError`."""
    unit = parse_unit(name)
    if unit.powers != quantity.powers:
        raise UnitError(f"{describe(quantity.powers)} cannot be told in '{name}'")
    return unit


def worked_html(block: Worked) -> Markup:
    """The block as a table whose formulas also travel as JSON, so that a page can recompute them."""
    parts = [
        Markup('<figure class="worked" id="worked-{}" data-worked=\'{}\'>').format(block.name, _json(block)),
        Markup("<figcaption>{}</figcaption><table><tbody>").format(block.title),
    ]
    folded = len(block.rows) > LONGEST_OPEN
    shown = [row for row in block.rows if row.kind == "result"] if folded else block.rows
    parts.extend(_row_html(row) for row in shown)
    parts.append(Markup("</tbody></table>"))
    if folded:
        hidden = [row for row in block.rows if row.kind != "result"]
        parts.append(Markup("<details><summary>The {} lines behind it</summary><table><tbody>").format(len(hidden)))
        parts.extend(_row_html(row) for row in hidden)
        parts.append(Markup("</tbody></table></details>"))
    parts.append(Markup("</figure>\n"))
    return Markup("").join(parts)


def _row_html(row: Row) -> Markup:
    symbol = name_html(row.name)
    how = symbol if row.formula is None else Markup("{} = {}").format(symbol, formula_html(row.formula))
    return Markup(
        '<tr class="worked-{}" data-name="{}"><th scope="row">{}</th><td class="worked-how">{}</td>'
        '<td class="worked-value">{}</td></tr>'
    ).format(row.kind, row.name, row.label, how, row.text)


def worked_data(block: Worked) -> list[dict[str, Tree | None]]:
    """The rows as JSON for app/static/js/arithmetic.js: what is given as text, the rest as trees."""
    rows: list[dict[str, Tree | None]] = []
    for row in block.rows:
        entry: dict[str, Tree | None] = {"kind": row.kind, "name": row.name, "unit": row.unit.name}
        entry["factor"] = str(row.unit.factor)
        entry["decimals"] = row.decimals
        if row.formula is None:
            entry["value"] = plain_text(Fraction(row.quantity.value) / row.unit.factor)
        else:
            entry["tree"] = tree_of(row.formula)
        rows.append(entry)
    return rows


def _json(block: Worked) -> Markup:
    text = json.dumps(worked_data(block), ensure_ascii=False, separators=(",", ":"))
    # Escaped for a single-quoted attribute, where JSON's own quotes need no escape and the page stays small.
    return Markup(text.replace("&", "&amp;").replace("'", "&#39;").replace("<", "&lt;"))  # noqa: S704
