"""Statements without loops → steps: assignment, calls, return, assert, if."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Any

from grader.interpreter.block import NOBODY, Block, Step, compiles
from grader.interpreter.calls import compile_call
from grader.interpreter.compiling import compile_expression, refuse
from grader.interpreter.divergence import Branching, Env, as_rows, take_all
from grader.interpreter.dtypes import Array
from grader.interpreter.errors import Rejected
from grader.interpreter.operators import binary
from grader.interpreter.printing import device_assert, static_assert
from grader.interpreter.run import Run
from grader.interpreter.scope import Scope
from grader.interpreter.truth import truth
from grader.interpreter.value import Value, is_number, same_type, scalar

# Assignment


def as_variable(value: Any) -> Any:
    """What a plain assignment stores: numbers become tensors, as in the compiler."""
    if is_number(value):
        return scalar(value)
    if type(value) is tuple:
        return tuple(map(as_variable, value))
    return value


def _bind(env: Env, target: ast.expr, value: Any) -> None:
    if isinstance(target, ast.Name):
        env[target.id] = value
    elif isinstance(target, ast.Tuple | ast.List):
        if not isinstance(value, tuple) or len(value) != len(target.elts):
            raise Rejected(f"cannot unpack {value!r} into {len(target.elts)} names")
        for inner, part in zip(target.elts, value, strict=True):
            _bind(env, inner, part)
    elif isinstance(target, ast.Subscript):
        raise Rejected("assignment to an element of a tile is not supported in a Triton kernel; use tl.where")
    else:
        raise Rejected(f"assignment to {type(target).__name__} is not supported in a Triton kernel")


@compiles(ast.Assign)
def _assign(scope: Scope, node: ast.Assign) -> Step:
    if len(node.targets) != 1:
        return refuse(node, "a = b = … is not supported in a Triton kernel")
    value, target = compile_expression(scope, node.value), node.targets[0]
    if isinstance(target, ast.Name):
        name = target.id

        def assign_name(run: Run, env: Env) -> None:
            env[name] = as_variable(value(run, env))

        return assign_name

    def assign(run: Run, env: Env) -> None:
        _bind(env, target, as_variable(value(run, env)))

    return assign


@compiles(ast.AnnAssign)
def _annotated(scope: Scope, node: ast.AnnAssign) -> Step:
    if node.value is None or not isinstance(node.target, ast.Name):
        return refuse(node, "an annotation needs a value in a Triton kernel")
    value, name = compile_expression(scope, node.value), node.target.id
    constant = "constexpr" in ast.unparse(node.annotation)

    def assign(run: Run, env: Env) -> None:
        found = value(run, env)
        if constant and isinstance(found, Value):
            raise Rejected(f"{name!r} is a tl.constexpr, but its value is only known at run time")
        env[name] = found if constant else as_variable(found)

    return assign


@compiles(ast.AugAssign)
def _augmented(scope: Scope, node: ast.AugAssign) -> Step:
    if not isinstance(node.target, ast.Name):
        return refuse(node, "only names can be updated in a Triton kernel")
    name = node.target.id
    have = compile_expression(scope, ast.copy_location(ast.Name(name, ast.Load()), node))
    value, apply = compile_expression(scope, node.value), binary(type(node.op))

    def update(run: Run, env: Env) -> None:
        env[name] = as_variable(apply(run, have(run, env), value(run, env)))

    return update


# Simple statements


@compiles(ast.Expr)
def _expression(scope: Scope, node: ast.Expr) -> Step:
    if isinstance(node.value, ast.Constant):
        return lambda run, env: None  # a docstring
    if isinstance(node.value, ast.Call):
        code = compile_call(scope, node.value, unused=True)
    else:
        code = compile_expression(scope, node.value)

    def evaluate(run: Run, env: Env) -> None:
        code(run, env)

    return evaluate


@compiles(ast.Return)
def _return(scope: Scope, node: ast.Return) -> Step:
    code = None if node.value is None else compile_expression(scope, node.value)

    def leave(run: Run, env: Env) -> Array:
        run.call.returns.append((run.call.rows, None if code is None else code(run, env)))
        return NOBODY

    return leave


@compiles(ast.Assert)
def _assert(scope: Scope, node: ast.Assert) -> Step:
    test = compile_expression(scope, node.test)
    message = None if node.msg is None else compile_expression(scope, node.msg)

    def check(run: Run, env: Env) -> None:
        condition = test(run, env)
        words = "" if message is None else message(run, env)
        (device_assert if isinstance(condition, Value) else static_assert)(run, condition, words)

    return check


# Branches


@compiles(ast.If)
def _if(scope: Scope, node: ast.If) -> Step:
    test = compile_expression(scope, node.test)
    body, orelse = Block(scope, node.body), Block(scope, node.orelse)
    line = node.lineno

    def branch(run: Run, env: Env) -> Array | None:
        condition = test(run, env)
        chosen = truth(run, condition)
        if not isinstance(condition, Value):
            return (body if chosen else orelse).run(run, env)
        before = {name: env[name] for name in body.names | orelse.names if name in env}
        if isinstance(chosen, bool):
            gone = (body if chosen else orelse).run(run, env)
        else:
            ways = [(chosen.nonzero()[0], body), ((~chosen).nonzero()[0], orelse)]
            gone = _part(run, env, ways, before.keys() | (body.names & orelse.names), line)
        run.line = line
        if gone is None or len(gone):
            _after_branch(run, env, before, body, orelse, line)
        return gone

    return branch


def _part(run: Run, env: Env, ways: list[tuple[Array, Block]], names: Iterable[str], line: int) -> Array | None:
    paths = Branching(run)
    for rows, block in ways:
        paths.enter(rows)
        mine = take_all(env, as_rows(rows), block.mentions)
        paths.leave(rows, mine, block.run(run, mine))
    run.line = line
    return paths.join(env, names)


def _after_branch(run: Run, env: Env, before: Env, body: Block, orelse: Block, line: int) -> None:
    """What the compiler asks of variables behind an `if`: the type they had, or a definition on both paths."""
    for name in body.names | orelse.names:
        if name in before:
            if name in env and not same_type(before[name], env[name]):
                raise Rejected(
                    f"{name!r} is {before[name]!r} before the `if` of line {line} and {env[name]!r} behind it"
                )
        elif not (name in body.names and name in orelse.names):
            env.pop(name, None)
            run.call.lost[name] = f"only one path of the `if` at line {line} assigns it"


@compiles(ast.Pass)
def _pass(scope: Scope, node: ast.Pass) -> Step:
    return lambda run, env: None
