"""Loops → steps. Programs with different trip counts start sorted by them, so that those still in the loop are
always the last rows: cutting the others off makes views, not copies.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Any

import numpy as np

from grader.interpreter.block import Block, Step, compiles
from grader.interpreter.casting import promote_integers
from grader.interpreter.compiling import Code, compile_expression, refuse
from grader.interpreter.divergence import Branching, Env, as_rows, take_all
from grader.interpreter.dtypes import Array, DType
from grader.interpreter.errors import Fault, Rejected
from grader.interpreter.run import Run
from grader.interpreter.scope import RangeCall, Scope
from grader.interpreter.spinning import PATIENCE, Stalled, spin_kind
from grader.interpreter.truth import truth
from grader.interpreter.value import Value, is_number, same_type, scalar, value_of

_HINTS = {
    "num_stages",
    "loop_unroll_factor",
    "disallow_acc_multi_buffer",
    "flatten",
    "warp_specialize",
    "disable_licm",
}


class Carried:
    """The variables that a loop changes: each keeps its type, and those that the loop alone defines end with it."""

    def __init__(self, env: Env, names: Iterable[str], line: int) -> None:
        self.before = {name: env[name] for name in names if name in env}
        self.names = frozenset(names)
        self.line = line
        self.checked = False

    def check(self, run: Run, env: Env) -> None:
        """After the first pass through the body."""
        if self.checked:
            return
        self.checked = True
        for name, value in self.before.items():
            if not same_type(value, env.get(name)):
                run.line = self.line
                raise Rejected(f"loop-carried variable {name!r} starts as {value!r} and becomes {env.get(name)!r}")

    def end(self, run: Run, env: Env) -> None:
        for name in self.names:
            if name not in self.before:
                env.pop(name, None)
                run.call.lost[name] = f"only the loop at line {self.line} assigns it, which may run zero times"


def _first_return(body: list[ast.stmt]) -> int | None:
    """The line of the first statement of a loop that has a `return` in it."""
    return next((part.lineno for part in body if any(isinstance(x, ast.Return) for x in ast.walk(part))), None)


def _no_returns(run: Run, line: int | None) -> None:
    if line is not None:
        run.line = line
        raise Rejected("`return` inside a loop is not supported in a Triton kernel")


@compiles(ast.For)
def compile_for(scope: Scope, node: ast.For) -> Step:
    if node.orelse or not isinstance(node.target, ast.Name) or not isinstance(node.iter, ast.Call):
        return refuse(node, "a loop in a kernel is `for name in range(…)`, tl.range or tl.static_range")
    function = compile_expression(scope, node.iter.func)
    bounds = [compile_expression(scope, arg) for arg in node.iter.args]
    named = {word.arg: compile_expression(scope, word.value) for word in node.iter.keywords}
    body, name, line = Block(scope, node.body), node.target.id, node.lineno
    returns = _first_return(node.body)

    def loop(run: Run, env: Env) -> Array | None:
        kind = function(run, env)
        if not isinstance(kind, RangeCall):
            raise Rejected("a loop in a kernel goes over range, tl.range or tl.static_range")
        limits = _limits(run, env, bounds, named)
        if kind.static:
            return _unrolled(run, env, body, name, limits)
        _no_returns(run, returns)
        if any(isinstance(limit, Value) and limit.shape for limit in limits):
            raise Rejected("the bounds of a loop must be scalars, not tiles")
        return _ranged(run, env, body, name, limits, line)

    return loop


def _limits(run: Run, env: Env, bounds: list[Code], named: dict[str | None, Code]) -> list[Any]:
    values = [bound(run, env) for bound in bounds]
    for word, code in named.items():
        if word == "step":
            values = [0, *values] if len(values) == 1 else values
            values.append(code(run, env))
        elif word not in _HINTS:
            raise Rejected(f"range has no argument {word!r}")
    if not 1 <= len(values) <= 3:
        raise Rejected(f"range takes one to three arguments, got {len(values)}")
    start, stop, step = (0, values[0], 1) if len(values) == 1 else (*values, 1)[:3]
    return [start, stop, step]


def _unrolled(run: Run, env: Env, body: Block, name: str, limits: list[Any]) -> Array | None:
    if any(isinstance(limit, Value) for limit in limits):
        raise Rejected("tl.static_range needs bounds that are tl.constexpr")
    alive: Array | None = None
    for i in range(*limits):
        env[name] = i
        gone = body.run(run, env)
        if gone is not None:
            alive = gone if alive is None else alive[gone]
            if len(gone) == 0:
                break
    return alive


def _ranged(run: Run, env: Env, body: Block, name: str, limits: list[Any], line: int) -> Array | None:
    start, stop, step = map(value_of, limits)
    for value in (start, stop, step):
        if not value.dtype.is_int():
            raise Rejected(f"the bounds of a loop must be integers, got {value.dtype}")
    dtype = promote_integers(promote_integers(start.dtype, stop.dtype), step.dtype)
    if not step.data.all():
        raise Fault("range() with a step of zero")
    carried = Carried(env, (body.names | {name}) - {name}, line)
    if all(value.data.shape[0] == 1 for value in (start, stop, step)):
        for i in range(int(start.data[0]), int(stop.data[0]), int(step.data[0])):
            env[name] = scalar(i, dtype)
            body.run(run, env)
            carried.check(run, env)
        gone = None
    else:
        first, last, by = (value.data.astype(np.int64) for value in (start, stop, step))
        gone = _divergent(run, env, body, name, dtype, (first, last, by), carried)
    env.pop(name, None)
    run.call.lost[name] = f"it is the variable of the loop at line {line}, and ends with it"
    carried.end(run, env)
    return gone


def _divergent(
    run: Run, env: Env, body: Block, name: str, dtype: DType, bounds: tuple[Array, Array, Array], carried: Carried
) -> Array | None:
    """Each program its own number of trips."""
    first, last, by = bounds
    trips = np.broadcast_to(np.maximum(0, -((first - last) // by)), (run.programs.count,))
    order = np.argsort(trips, kind="stable")
    paths = Branching(run)
    paths.enter(order)
    mine = take_all(env, as_rows(order), body.mentions)
    current, done = order, 0
    for count in np.unique(trips):
        for k in range(done, int(count)):
            i = first + k * by
            mine[name] = Value(dtype, (), (i if i.shape[0] == 1 else i[current]).astype(dtype.held))
            body.run(run, mine)
            carried.check(run, mine)
        done = int(count)
        finished = int(np.searchsorted(trips[current], count, side="right"))
        paths.leave(current[:finished], take_all(mine, slice(0, finished), carried.before))
        current = current[finished:]
        if len(current):
            mine = take_all(mine, slice(finished, None))
            paths.enter(current)
    return paths.join(env, carried.before)


@compiles(ast.While)
def compile_while(scope: Scope, node: ast.While) -> Step:
    if node.orelse:
        return refuse(node, "`while … else` is not supported in a Triton kernel")
    test, body, line = compile_expression(scope, node.test), Block(scope, node.body), node.lineno
    returns = _first_return(node.body)
    patience = PATIENCE if spin_kind(scope, node) else None

    def loop(run: Run, env: Env) -> Array | None:
        _no_returns(run, returns)
        carried = Carried(env, body.names, line)
        gone = _repeat(run, env, test, body, carried, patience)
        carried.end(run, env)
        return gone

    return loop


def _repeat(run: Run, env: Env, test: Code, body: Block, carried: Carried, patience: int | None) -> Array | None:
    paths = Branching(run)
    mine, current, waited = env, np.arange(run.programs.count), 0
    while True:
        condition = test(run, mine)
        if is_number(condition):
            raise Rejected("the condition of a `while` must be a run-time value")
        chosen = truth(run, condition)
        if chosen is False:
            break
        waited += 1
        if chosen is not True:
            finished, going = as_rows((~chosen).nonzero()[0]), as_rows(chosen.nonzero()[0])
            paths.leave(current[finished], take_all(mine, finished, carried.before))
            mine, current, waited = take_all(mine, going), current[going], 0
            paths.enter(current)
        if patience is not None and waited > patience:
            _give_up(env, mine, current, paths, carried)
        body.run(run, mine)
        carried.check(run, mine)
    if not paths.parts:
        return None
    paths.leave(current, {name: mine[name] for name in carried.before})
    return paths.join(env, carried.before)


def _give_up(env: Env, mine: Env, current: Array, paths: Branching, carried: Carried) -> None:
    """Nobody left this waiting loop for long: the programs must be run one by one, or wait for ever."""
    if paths.programs.count == 1:
        raise Fault(
            "this loop waits for ever: no other program will change what it waits for "
            "(programs may run one after the other, in any order)"
        )
    paths.leave(current, {name: mine[name] for name in carried.before})
    paths.join(env, carried.before)
    raise Stalled
