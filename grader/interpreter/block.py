"""Statements in a row, and the table of what compiles each kind of statement.

A step runs one statement for the current programs. It returns None when all of them go on, or the rows that do when
some have returned; the variables are then already cut down to those.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from grader.interpreter.compiling import refuse
from grader.interpreter.divergence import Branching, Env, take_all
from grader.interpreter.dtypes import Array
from grader.interpreter.run import Run
from grader.interpreter.scope import Scope, mentioned, stored
from grader.interpreter.spinning import Stalled, spin_kind

Step = Callable[[Run, Env], Array | None]
NOBODY = np.zeros(0, np.int64)

_COMPILERS: dict[type[ast.stmt], Callable[[Scope, Any], Step]] = {}


def compiles(kind: type[ast.stmt]) -> Callable[[Callable[[Scope, Any], Step]], Callable[[Scope, Any], Step]]:
    """Marks the function that compiles one kind of statement."""

    def register(compiler: Callable[[Scope, Any], Step]) -> Callable[[Scope, Any], Step]:
        _COMPILERS[kind] = compiler
        return compiler

    return register


def compile_statement(scope: Scope, node: ast.stmt) -> Step:
    compiler = _COMPILERS.get(type(node))
    return refuse(node) if compiler is None else compiler(scope, node)


class Block:
    """Statements in a row. `names`: what they may assign; `mentions`: all names in them."""

    def __init__(self, scope: Scope, statements: Sequence[ast.stmt]) -> None:
        self.names = stored(statements)
        self.mentions = mentioned(statements)
        self.steps = [(node.lineno, compile_statement(scope, node), spin_kind(scope, node)) for node in statements]

    def run(self, run: Run, env: Env, start: int = 0) -> Array | None:
        alive: Array | None = None
        for number in range(start, len(self.steps)):
            line, step, spin = self.steps[number]
            run.line = line
            gone: Array | None = None
            alone = spin == "lock" and run.programs.count > 1
            if not alone:
                try:
                    gone = step(run, env)
                except Stalled:
                    if spin != "wait" or run.programs.count == 1:
                        raise
                    alone = True
            if alone:
                gone = self._one_by_one(run, env, number)
            if gone is not None:
                alive = gone if alive is None else alive[gone]
            if run.stepper is not None and not alone:
                run.stepper.after(run, env, line)
            if alone or (gone is not None and len(gone) == 0):
                return alive
        return alive

    def _one_by_one(self, run: Run, env: Env, start: int) -> Array | None:
        """The rest of the block, one program after the other: who waits for a lock must not stop its holder."""
        paths = Branching(run)
        for row in range(run.programs.count):
            rows = np.arange(row, row + 1)
            paths.enter(rows)
            mine = take_all(env, slice(row, row + 1))
            paths.leave(rows, mine, self.run(run, mine, start))
        return paths.join(env, self.names)
