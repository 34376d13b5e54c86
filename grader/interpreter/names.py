"""Names, constants, tuples, indices and attributes of a kernel → code."""

from __future__ import annotations

import ast
from types import ModuleType
from typing import Any

from grader.interpreter.compiling import Code, compile_expression, compiles, refuse
from grader.interpreter.divergence import Env
from grader.interpreter.errors import KernelError, Rejected
from grader.interpreter.members import keep_out, member
from grader.interpreter.run import Run
from grader.interpreter.scope import Missing, Scope, unwrap
from grader.interpreter.shapes import expand_dims, with_new_axes
from grader.interpreter.value import Value


@compiles(ast.Constant)
def _constant(scope: Scope, node: ast.Constant) -> Code:
    value = node.value
    return lambda run, env: value


@compiles(ast.Name)
def _name(scope: Scope, node: ast.Name) -> Code:
    name = node.id
    if name not in scope.locals:
        try:
            found = scope.outside(name)
        except KernelError as error:
            return refuse(node, error.message)
        return lambda run, env: found

    def local(run: Run, env: Env) -> Any:
        try:
            return env[name]
        except KeyError:
            why = run.call.lost.get(name, "it is not assigned before this line")
            raise Rejected(f"{name!r} is not defined here: {why}") from None

    return local


@compiles(ast.Tuple)
@compiles(ast.List)
def _tuple(scope: Scope, node: ast.Tuple | ast.List) -> Code:
    if any(isinstance(item, ast.Starred) for item in node.elts):
        return refuse(node, "* in a tuple is not supported in a Triton kernel")
    codes = [compile_expression(scope, item) for item in node.elts]
    return lambda run, env: tuple([code(run, env) for code in codes])


@compiles(ast.ListComp)
def _comprehension(scope: Scope, node: ast.ListComp) -> Code:
    loop = node.generators[0]
    if len(node.generators) != 1 or loop.ifs or not isinstance(loop.target, ast.Name):
        return refuse(node, "only [… for x in tuple] is supported of comprehensions")
    items, element, name = compile_expression(scope, loop.iter), compile_expression(scope, node.elt), loop.target.id

    def evaluate(run: Run, env: Env) -> Any:
        values = items(run, env)
        if not isinstance(values, tuple):
            raise Rejected("a comprehension in a kernel goes over a tuple")
        return tuple([element(run, {**env, name: value}) for value in values])

    return evaluate


@compiles(ast.Subscript)
def _subscript(scope: Scope, node: ast.Subscript) -> Code:
    base, index = compile_expression(scope, node.value), compile_expression(scope, node.slice)
    axes = _new_axes(node.slice)
    if axes is not None:
        return _with_axes(base, axes)

    def evaluate(run: Run, env: Env) -> Any:
        value, at = base(run, env), index(run, env)
        if not isinstance(value, Value):
            if isinstance(at, Value):
                raise Rejected("a tuple is indexed by constants only")
            return value[at]
        entries = at if isinstance(at, tuple) else (at,)
        for entry in entries:
            if entry is not None and entry != slice(None):
                raise Rejected(f"a tile is only indexed by `:` and None, got {entry!r}")
        axes = [axis for axis, entry in enumerate(entries) if entry is None]
        return expand_dims(run, value, axes) if axes else value

    return evaluate


def _new_axes(node: ast.expr) -> tuple[int, ...] | None:
    """The places of None in an index like [:, None] that is nothing but `:` and None."""
    entries = node.elts if isinstance(node, ast.Tuple) else []
    axes = []
    for place, entry in enumerate(entries):
        if isinstance(entry, ast.Constant) and entry.value is None:
            axes.append(place)
        elif not isinstance(entry, ast.Slice) or entry.lower or entry.upper or entry.step:
            return None
    return tuple(axes) or None


def _with_axes(base: Code, axes: tuple[int, ...]) -> Code:
    def evaluate(run: Run, env: Env) -> Any:
        value = base(run, env)
        if not isinstance(value, Value):
            raise Rejected(f"{value!r} is not a tile: it takes no new axes")
        return with_new_axes(value, axes)

    return evaluate


@compiles(ast.Slice)
def _slice(scope: Scope, node: ast.Slice) -> Code:
    codes = [
        None if part is None else compile_expression(scope, part) for part in (node.lower, node.upper, node.step)
    ]
    return lambda run, env: slice(*(None if code is None else code(run, env) for code in codes))


@compiles(ast.Attribute)
def _attribute(scope: Scope, node: ast.Attribute) -> Code:
    name = node.attr
    if is_outside(scope, node):  # tl.float32 and the like, looked up once
        try:
            found = _outside(scope, node)
        except KernelError as error:
            return refuse(node, error.message)
        return lambda run, env: found
    base = compile_expression(scope, node.value)
    return lambda run, env: member(run, base(run, env), name)


def is_outside(scope: Scope, node: ast.expr) -> bool:
    """Whether a dotted name starts at something that is not local."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name) and node.id not in scope.locals


def _outside(scope: Scope, node: ast.expr) -> Any:
    if isinstance(node, ast.Attribute):
        return attribute(_outside(scope, node.value), node.attr)
    assert isinstance(node, ast.Name)
    return scope.outside(node.id)


def attribute(owner: Any, name: str) -> Any:
    """An attribute of a module, type or function that a kernel names."""
    if name == "value" and not isinstance(owner, ModuleType):
        return owner  # a constant is its own value here
    keep_out(owner, name)
    try:
        return unwrap(getattr(owner, name))
    except AttributeError:
        label = owner.__name__ if isinstance(owner, ModuleType) else repr(owner)
        return Missing(f"{label}.{name}")


@compiles(ast.JoinedStr)
def _joined(scope: Scope, node: ast.JoinedStr) -> Code:
    codes = [compile_expression(scope, value) for value in node.values]
    return lambda run, env: "".join(str(code(run, env)) for code in codes)


@compiles(ast.FormattedValue)
def _formatted(scope: Scope, node: ast.FormattedValue) -> Code:
    return compile_expression(scope, node.value)
