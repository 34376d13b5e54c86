"""Loops in which a program waits for another one: which they are, and how long lockstep gives them.

All programs of a chunk take the same step together. A lock breaks that: its holder would wait behind the loop for
those that can't leave it. From a loop that takes a lock, the programs run the rest of the block one by one; from a
loop that only looks (at a flag, at a counter) they do so when nobody got any further for a while.
"""

from __future__ import annotations

import ast

from grader.interpreter.errors import KernelError
from grader.interpreter.scope import Scope

PATIENCE = 1000  # turns of a waiting loop without any program leaving it


class Stalled(Exception):
    """A waiting loop made no progress in lockstep; the variables are as they were after its last turn."""


def spin_kind(scope: Scope, node: ast.stmt) -> str | None:
    """ "lock", "wait", or None for a statement that does not wait for other programs."""
    if isinstance(node, ast.While):
        calls = {name for name in map(_called, ast.walk(node)) if name}
        if calls & {"atomic_cas", "atomic_xchg"}:
            return "lock"
        if any(name.startswith("atomic") for name in calls) or _is_volatile(node):
            return "wait"
        return None
    if isinstance(node, ast.Expr | ast.Assign | ast.AnnAssign) and _calls_lock(scope, node):
        return "lock"
    return None


def _called(node: ast.AST) -> str | None:
    if not isinstance(node, ast.Call):
        return None
    function = node.func
    return (
        function.attr
        if isinstance(function, ast.Attribute)
        else function.id
        if isinstance(function, ast.Name)
        else None
    )


def _is_volatile(node: ast.AST) -> bool:
    return any(
        isinstance(inner, ast.Call) and any(word.arg == "volatile" for word in inner.keywords)
        for inner in ast.walk(node)
    )


def _calls_lock(scope: Scope, node: ast.stmt) -> bool:
    """Whether the statement calls a device function that takes a lock."""
    from grader.interpreter.jit import Function

    for inner in ast.walk(node):
        if isinstance(inner, ast.Call) and isinstance(inner.func, ast.Name) and inner.func.id not in scope.locals:
            try:
                target = scope.outside(inner.func.id)
            except KernelError:
                continue
            if isinstance(target, Function) and target.takes_lock():
                return True
    return False
