"""Formulas of worked blocks as readable HTML: N² · b, ⌈S / B⌉, e to a power. No TeX, so that they stay short."""

from __future__ import annotations

import ast
import re

from markupsafe import Markup

LEVEL: dict[type[ast.operator], int] = {
    ast.Add: 1,
    ast.Sub: 1,
    ast.Mult: 2,
    ast.Div: 2,
    ast.FloorDiv: 5,  # drawn with its own brackets
    ast.Mod: 2,
    ast.Pow: 4,
}
SIGN: dict[type[ast.operator], str] = {
    ast.Add: " + ",
    ast.Sub: " − ",
    ast.Mult: " · ",
    ast.Div: " / ",
    ast.Mod: " mod ",
}
ATOM = 5
BRACKETS = {"ceil": ("⌈", "⌉"), "floor": ("⌊", "⌋")}
INDEXED = re.compile(r"([A-Za-z]+?)_?(\d+|(?<=_)[A-Za-z0-9]+)$")


def name_html(name: str) -> Markup:
    """`m1` and `s_max` with their index below the line; everything else in italics as it is."""
    match = INDEXED.fullmatch(name)
    if match is None:
        return Markup("<var>{}</var>").format(name.replace("_", " "))
    return Markup("<var>{}<sub>{}</sub></var>").format(match[1], match[2])


def formula_html(node: ast.expr) -> Markup:
    """An expression that `expression.parse` accepted."""
    return _draw(node)[0]


def _draw(node: ast.expr) -> tuple[Markup, int]:
    if isinstance(node, ast.Name):
        return name_html(node.id), ATOM
    if isinstance(node, ast.Constant):
        text = f"{node.value:,}" if isinstance(node.value, int) else str(node.value)
        return Markup("{}").format(text), ATOM
    if isinstance(node, ast.UnaryOp):
        return Markup("−{}").format(_within(node.operand, 3)), 3
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return _call(node.func.id, node.args), ATOM
    assert isinstance(node, ast.BinOp)
    return _binary(node), LEVEL[type(node.op)]


def _binary(node: ast.BinOp) -> Markup:
    if isinstance(node.op, ast.Pow):
        return Markup("{}<sup>{}</sup>").format(_within(node.left, ATOM), formula_html(node.right))
    if isinstance(node.op, ast.FloorDiv):
        return Markup("⌊{} / {}⌋").format(_within(node.left, 2), _within(node.right, 3))
    level = LEVEL[type(node.op)]
    strict = isinstance(node.op, ast.Sub | ast.Div | ast.Mod)
    right = _within(node.right, level + 1 if strict else level)
    return Markup("{}{}{}").format(_within(node.left, level), SIGN[type(node.op)], right)


def _within(node: ast.expr, level: int) -> Markup:
    inner, own = _draw(node)
    return inner if own >= level else Markup("({})").format(inner)


def _call(name: str, arguments: list[ast.expr]) -> Markup:
    drawn = Markup(", ").join(formula_html(argument) for argument in arguments)
    if name in BRACKETS:
        left, right = BRACKETS[name]
        return Markup("{}{}{}").format(left, drawn, right)
    if name == "exp":
        return Markup("<i>e</i><sup>{}</sup>").format(drawn)
    if name == "sqrt":
        return Markup("√({})").format(drawn)
    return Markup("{}({})").format(name, drawn)
