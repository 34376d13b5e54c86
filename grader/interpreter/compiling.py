"""The table of what compiles each kind of expression. `operators`, `names` and `calls` fill it.

Compiled code takes the run and the variables and returns a value: a `Value`, or a plain Python object where the
compiler would have a constant.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from grader.interpreter.divergence import Env
from grader.interpreter.errors import Rejected
from grader.interpreter.run import Run
from grader.interpreter.scope import Scope

Code = Callable[[Run, Env], Any]
Compiler = Callable[[Scope, Any], Code]

_COMPILERS: dict[type[ast.expr], Compiler] = {}


def compiles(kind: type[ast.expr]) -> Callable[[Compiler], Compiler]:
    """Marks the function that compiles one kind of expression."""

    def register(compiler: Compiler) -> Compiler:
        _COMPILERS[kind] = compiler
        return compiler

    return register


def compile_expression(scope: Scope, node: ast.expr) -> Code:
    compiler = _COMPILERS.get(type(node))
    return refuse(node) if compiler is None else compiler(scope, node)


def refuse(node: ast.AST, why: str = "") -> Code:
    """Code that says, when reached, that the compiler has no such thing."""
    message = why or f"{type(node).__name__} is not supported in a Triton kernel"

    def refused(run: Run, env: Env) -> Any:
        run.line = getattr(node, "lineno", run.line)
        raise Rejected(message)

    return refused
