"""The small arithmetic that worked blocks are written in: parsed, checked against a whitelist, evaluated exactly.

Integers and decimals stay exact rationals; only `exp`, `log`, `log2` and `sqrt` leave for floating point. Nothing
here can reach an attribute, a name that was not given, or an amount of work that matters.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from app.course.units import PURE, Powers, describe

MAX_LENGTH = 200
MAX_BITS = 4096  # of any intermediate numerator or denominator
MAX_POWER = 64

Exact = Fraction | float


class ExpressionError(ValueError):
    """An expression that cannot be parsed or evaluated. The message is for the author."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """A value in base units and the powers of those units."""

    value: Exact
    powers: Powers = PURE


Tree = int | str | list["Tree"]  # JSON: a number as text, a name, or [operator, operand, …]


def parse(text: str) -> ast.expr:
    """The syntax tree of an expression. Raises `ExpressionError` for anything outside the small arithmetic."""
    if len(text) > MAX_LENGTH:
        raise ExpressionError(f"the expression is longer than {MAX_LENGTH} characters")
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ExpressionError(f"'{text.strip()}' does not parse") from error
    _check(tree)
    return tree


def _check(node: ast.expr) -> None:
    if isinstance(node, ast.Name):
        return
    if isinstance(node, ast.Constant):
        value = node.value
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise ExpressionError(f"{value!r} is not a number")
    elif isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        _check(node.left)
        _check(node.right)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        _check(node.operand)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
        if node.func.id not in FUNCTIONS:
            raise ExpressionError(f"the function '{node.func.id}' is not known")
        if not node.args:
            raise ExpressionError(f"'{node.func.id}' needs an argument")
        for argument in node.args:
            _check(argument)
    else:
        raise ExpressionError(f"'{ast.unparse(node)}' is not allowed: use numbers, names, operators and functions")


def evaluate(node: ast.expr, names: Mapping[str, Quantity]) -> Quantity:
    """The value of a parsed expression. Raises `ExpressionError`: unknown names, unfit units, overflow."""
    try:
        return _bounded(_evaluate(node, names))
    except (ZeroDivisionError, OverflowError) as error:
        raise ExpressionError(f"'{ast.unparse(node)}': {error}") from error


def _evaluate(node: ast.expr, names: Mapping[str, Quantity]) -> Quantity:
    if isinstance(node, ast.Constant):
        return Quantity(Fraction(str(node.value)))
    if isinstance(node, ast.Name):
        if node.id not in names:
            raise ExpressionError(f"'{node.id}' is not given above")
        return names[node.id]
    if isinstance(node, ast.UnaryOp):
        inner = _evaluate(node.operand, names)
        return Quantity(-inner.value, inner.powers)
    if isinstance(node, ast.BinOp):
        left, right = evaluate(node.left, names), evaluate(node.right, names)
        if isinstance(node.op, ast.Pow) and left.powers != PURE and not _written_out(node.right):
            # Otherwise the unit of the result would change with an input.
            raise ExpressionError(f"{describe(left.powers)} is raised to a number that is not written out")
        return OPERATORS[type(node.op)](left, right)
    assert isinstance(node, ast.Call)  # _check let nothing else through
    assert isinstance(node.func, ast.Name)
    return FUNCTIONS[node.func.id]([evaluate(argument, names) for argument in node.args])


def _written_out(node: ast.expr) -> bool:
    return not any(isinstance(part, ast.Name) for part in ast.walk(node))


def _bounded(quantity: Quantity) -> Quantity:
    value = quantity.value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ExpressionError("the result is not finite")
    elif max(value.numerator.bit_length(), value.denominator.bit_length()) > MAX_BITS:
        raise ExpressionError("the result is too large")
    return quantity


def _same(left: Quantity, right: Quantity, doing: str) -> Powers:
    if left.powers != right.powers:
        raise ExpressionError(f"cannot {doing} {describe(left.powers)} and {describe(right.powers)}")
    return left.powers


def _add(left: Quantity, right: Quantity) -> Quantity:
    return Quantity(left.value + right.value, _same(left, right, "add"))


def _subtract(left: Quantity, right: Quantity) -> Quantity:
    return Quantity(left.value - right.value, _same(left, right, "subtract"))


def _multiply(left: Quantity, right: Quantity) -> Quantity:
    powers = tuple(a + b for a, b in zip(left.powers, right.powers, strict=True))
    return Quantity(left.value * right.value, powers)


def _divide(left: Quantity, right: Quantity) -> Quantity:
    powers = tuple(a - b for a, b in zip(left.powers, right.powers, strict=True))
    return Quantity(left.value / right.value, powers)


def _floor_divide(left: Quantity, right: Quantity) -> Quantity:
    quotient = _divide(left, right)
    return Quantity(Fraction(math.floor(quotient.value)), quotient.powers)


def _modulo(left: Quantity, right: Quantity) -> Quantity:
    return Quantity(left.value % right.value, _same(left, right, "take the remainder of"))


def _power(left: Quantity, right: Quantity) -> Quantity:
    exponent = right.value
    if right.powers != PURE or float(exponent) != int(exponent) or abs(float(exponent)) > MAX_POWER:
        raise ExpressionError(f"an exponent is a whole number of at most {MAX_POWER}")
    whole = int(exponent)
    return Quantity(left.value**whole, tuple(power * whole for power in left.powers))


def _one(arguments: list[Quantity], name: str) -> Quantity:
    if len(arguments) != 1:
        raise ExpressionError(f"'{name}' takes one argument")
    return arguments[0]


def _pure(arguments: list[Quantity], name: str) -> float:
    argument = _one(arguments, name)
    if argument.powers != PURE:
        raise ExpressionError(f"'{name}' takes a pure number, not {describe(argument.powers)}")
    return float(argument.value)


def _irrational(
    name: str, function: Callable[[float], float], inverse: Callable[[int], int | None]
) -> Callable[[list[Quantity]], Quantity]:
    def call(arguments: list[Quantity]) -> Quantity:
        try:
            result = function(_pure(arguments, name))
            whole = round(result) if abs(result) <= MAX_POWER else None
            # e⁰, log 1, √9, log₂ 8: a whole result that its inverse confirms is exact, and printed without a ≈.
            exact = whole is not None and whole >= 0 and inverse(whole) == arguments[0].value
            return Quantity(Fraction(whole or 0) if exact else result)
        except ValueError as error:
            raise ExpressionError(f"'{name}' is not defined there") from error

    return call


def _whole(name: str, function: Callable[[Exact], int]) -> Callable[[list[Quantity]], Quantity]:
    def call(arguments: list[Quantity]) -> Quantity:
        argument = _one(arguments, name)
        return Quantity(Fraction(function(argument.value)), argument.powers)

    return call


def _extreme(name: str, choose: Callable[..., Quantity]) -> Callable[[list[Quantity]], Quantity]:
    def call(arguments: list[Quantity]) -> Quantity:
        for argument in arguments[1:]:
            _same(arguments[0], argument, "compare")
        return choose(arguments, key=lambda quantity: quantity.value)

    return call


OPERATORS: dict[type[ast.operator], Callable[[Quantity, Quantity], Quantity]] = {
    ast.Add: _add,
    ast.Sub: _subtract,
    ast.Mult: _multiply,
    ast.Div: _divide,
    ast.FloorDiv: _floor_divide,
    ast.Mod: _modulo,
    ast.Pow: _power,
}
FUNCTIONS: dict[str, Callable[[list[Quantity]], Quantity]] = {
    "ceil": _whole("ceil", math.ceil),
    "floor": _whole("floor", math.floor),
    "min": _extreme("min", min),
    "max": _extreme("max", max),
    "exp": _irrational("exp", math.exp, lambda whole: 0 if whole == 1 else None),
    "log": _irrational("log", math.log, lambda whole: 1 if whole == 0 else None),
    "log2": _irrational("log2", math.log2, lambda whole: 2**whole),
    "sqrt": _irrational("sqrt", math.sqrt, lambda whole: whole**2),
}
SIGNS: dict[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
}


def tree_of(node: ast.expr) -> Tree:
    """The expression as nested JSON lists, for a page that recomputes it: ["*", ["**", "N", "2"], "b"]."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.UnaryOp):
        return ["neg", tree_of(node.operand)]
    if isinstance(node, ast.BinOp):
        return [SIGNS[type(node.op)], tree_of(node.left), tree_of(node.right)]
    assert isinstance(node, ast.Call)
    assert isinstance(node.func, ast.Name)
    return [node.func.id, *(tree_of(argument) for argument in node.args)]
