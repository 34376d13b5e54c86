"""Operators of Python in a kernel → code: arithmetic, comparisons, and, or, not, … if … else …"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

from grader.interpreter import arithmetic, logic
from grader.interpreter.compiling import Code, compile_expression, compiles, refuse
from grader.interpreter.divergence import Branching, Env, take_all
from grader.interpreter.errors import Rejected
from grader.interpreter.run import Run
from grader.interpreter.scope import Scope
from grader.interpreter.truth import truth
from grader.interpreter.value import Value, same_type, value_of

_BINARY: dict[type[ast.operator], tuple[Callable[..., Any], Callable[..., Any] | None]] = {
    ast.Add: (operator.add, arithmetic.add),
    ast.Sub: (operator.sub, arithmetic.sub),
    ast.Mult: (operator.mul, arithmetic.mul),
    ast.Div: (operator.truediv, arithmetic.truediv),
    ast.FloorDiv: (operator.floordiv, arithmetic.floordiv),
    ast.Mod: (operator.mod, arithmetic.mod),
    ast.Pow: (operator.pow, None),
    ast.LShift: (operator.lshift, logic.shift_left),
    ast.RShift: (operator.rshift, logic.shift_right),
    ast.BitAnd: (operator.and_, logic.bit_and),
    ast.BitOr: (operator.or_, logic.bit_or),
    ast.BitXor: (operator.xor, logic.bit_xor),
}
_COMPARE: dict[type[ast.cmpop], tuple[Callable[..., Any], Callable[..., Any]]] = {
    ast.Lt: (operator.lt, logic.less),
    ast.LtE: (operator.le, logic.less_equal),
    ast.Gt: (operator.gt, logic.greater),
    ast.GtE: (operator.ge, logic.greater_equal),
    ast.Eq: (operator.eq, logic.equal),
    ast.NotEq: (operator.ne, logic.not_equal),
}


def binary(kind: type[ast.operator]) -> Callable[[Run, Any, Any], Any]:
    """The operator on two evaluated operands."""
    python, tensor = _BINARY[kind]

    def apply(run: Run, a: Any, b: Any) -> Any:
        if type(a) is Value or type(b) is Value:
            if tensor is None:
                raise Rejected("** is not supported on tensors")
            return tensor(run, a, b)
        try:
            return python(a, b)
        except (TypeError, ZeroDivisionError) as error:
            raise Rejected(str(error)) from None

    return apply


@compiles(ast.BinOp)
def _binop(scope: Scope, node: ast.BinOp) -> Code:
    if type(node.op) not in _BINARY:
        return refuse(node.op)
    left, right = compile_expression(scope, node.left), compile_expression(scope, node.right)
    apply = binary(type(node.op))
    return lambda run, env: apply(run, left(run, env), right(run, env))


@compiles(ast.Compare)
def _compare(scope: Scope, node: ast.Compare) -> Code:
    if len(node.ops) > 1:
        return refuse(node, "simultaneous multiple comparison is not supported; write (a < b) & (b < c)")
    kind = type(node.ops[0])
    left, right = compile_expression(scope, node.left), compile_expression(scope, node.comparators[0])
    if kind is ast.Is:
        return lambda run, env: left(run, env) is right(run, env)
    if kind is ast.IsNot:
        return lambda run, env: left(run, env) is not right(run, env)
    if kind not in _COMPARE:
        return refuse(node, f"the comparison {kind.__name__} is not supported in a Triton kernel")
    python, tensor = _COMPARE[kind]

    def compare(run: Run, env: Env) -> Any:
        a, b = left(run, env), right(run, env)
        return tensor(run, a, b) if type(a) is Value or type(b) is Value else python(a, b)

    return compare


@compiles(ast.BoolOp)
def _boolop(scope: Scope, node: ast.BoolOp) -> Code:
    conjunction = isinstance(node.op, ast.And)
    combine = logic.logical_and if conjunction else logic.logical_or
    codes = [compile_expression(scope, value) for value in node.values]

    def evaluate(run: Run, env: Env) -> Any:
        kept: list[Any] = []
        value: Any = None
        for code in codes:  # all operands are evaluated, except behind a constant that decides
            value = code(run, env)
            if isinstance(value, Value):
                kept.append(value)
            elif bool(value) is not conjunction:
                return value
        if not kept:
            return value
        out = kept.pop()
        while kept:
            out = combine(run, kept.pop(), out)
        return out

    return evaluate


@compiles(ast.UnaryOp)
def _unary(scope: Scope, node: ast.UnaryOp) -> Code:
    operand = compile_expression(scope, node.operand)
    python, tensor = {
        ast.USub: (operator.neg, arithmetic.negate),
        ast.UAdd: (operator.pos, lambda run, x: x),
        ast.Not: (operator.not_, logic.logical_not),
        ast.Invert: (operator.invert, logic.invert),
    }[type(node.op)]

    def apply(run: Run, env: Env) -> Any:
        value = operand(run, env)
        return tensor(run, value) if isinstance(value, Value) else python(value)  # type: ignore[operator]

    return apply


@compiles(ast.IfExp)
def _conditional(scope: Scope, node: ast.IfExp) -> Code:
    test = compile_expression(scope, node.test)
    body, orelse = compile_expression(scope, node.body), compile_expression(scope, node.orelse)

    def evaluate(run: Run, env: Env) -> Any:
        condition = test(run, env)
        chosen = truth(run, condition)
        if isinstance(chosen, bool):
            value = (body if chosen else orelse)(run, env)
            return value_of(value) if isinstance(condition, Value) and value is not None else value
        paths = Branching(run)
        for rows, code in ((chosen.nonzero()[0], body), ((~chosen).nonzero()[0], orelse)):
            paths.enter(rows)
            paths.leave(rows, {"": value_of(code(run, take_all(env, rows)))})
        if not same_type(paths.parts[0][1][""], paths.parts[1][1][""]):
            first, second = (part[1][""] for part in paths.parts)
            raise Rejected(f"the two sides of `… if … else …` have types {first} and {second}")
        out: Env = {}
        paths.join(out, [""])
        return out[""]

    return evaluate
