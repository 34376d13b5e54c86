"""Expressions of a kernel → closures. Each takes the run and the variables, and returns a value.

A value is a `Value`, or a plain Python object where the compiler would have a constant.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from types import ModuleType
from typing import Any

from grader.interpreter import arithmetic
from grader.interpreter.blocks import BlockPointer
from grader.interpreter.descriptors import METHODS as DESCRIPTOR_METHODS
from grader.interpreter.descriptors import Descriptor
from grader.interpreter.divergence import Branching, Env, take_all
from grader.interpreter.dtypes import DType
from grader.interpreter.errors import KernelError, Rejected
from grader.interpreter.members import METHODS, member
from grader.interpreter.run import Run
from grader.interpreter.scope import Builtin, Constexpr, ConstexprFunction, Missing, RangeCall, Scope, unwrap
from grader.interpreter.shapes import expand_dims, with_new_axes
from grader.interpreter.truth import truth
from grader.interpreter.value import Value, same_type, value_of

Code = Callable[[Run, Env], Any]
_WITH_METHODS = (Value, BlockPointer)

_BINARY: dict[type[ast.operator], tuple[Callable[..., Any], Callable[..., Any] | None]] = {
    ast.Add: (operator.add, arithmetic.add),
    ast.Sub: (operator.sub, arithmetic.sub),
    ast.Mult: (operator.mul, arithmetic.mul),
    ast.Div: (operator.truediv, arithmetic.truediv),
    ast.FloorDiv: (operator.floordiv, arithmetic.floordiv),
    ast.Mod: (operator.mod, arithmetic.mod),
    ast.Pow: (operator.pow, None),
    ast.LShift: (operator.lshift, arithmetic.shift_left),
    ast.RShift: (operator.rshift, arithmetic.shift_right),
    ast.BitAnd: (operator.and_, arithmetic.bit_and),
    ast.BitOr: (operator.or_, arithmetic.bit_or),
    ast.BitXor: (operator.xor, arithmetic.bit_xor),
}
_COMPARE: dict[type[ast.cmpop], tuple[Callable[..., Any], Callable[..., Any]]] = {
    ast.Lt: (operator.lt, arithmetic.less),
    ast.LtE: (operator.le, arithmetic.less_equal),
    ast.Gt: (operator.gt, arithmetic.greater),
    ast.GtE: (operator.ge, arithmetic.greater_equal),
    ast.Eq: (operator.eq, arithmetic.equal),
    ast.NotEq: (operator.ne, arithmetic.not_equal),
}


def compile_expression(scope: Scope, node: ast.expr) -> Code:
    compiler = _COMPILERS.get(type(node))
    if compiler is None:
        return refuse(node)
    return compiler(scope, node)


def refuse(node: ast.AST, why: str = "") -> Code:
    """Code that says, when reached, that the compiler has no such thing."""
    message = why or f"{type(node).__name__} is not supported in a Triton kernel"

    def refused(run: Run, env: Env) -> Any:
        run.line = getattr(node, "lineno", run.line)
        raise Rejected(message)

    return refused


def _constant(scope: Scope, node: ast.Constant) -> Code:
    value = node.value
    return lambda run, env: value


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


def _binop(scope: Scope, node: ast.BinOp) -> Code:
    if type(node.op) not in _BINARY:
        return refuse(node.op)
    left, right = compile_expression(scope, node.left), compile_expression(scope, node.right)
    apply = binary(type(node.op))
    return lambda run, env: apply(run, left(run, env), right(run, env))


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


def _boolop(scope: Scope, node: ast.BoolOp) -> Code:
    conjunction = isinstance(node.op, ast.And)
    combine = arithmetic.logical_and if conjunction else arithmetic.logical_or
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


def _unary(scope: Scope, node: ast.UnaryOp) -> Code:
    operand = compile_expression(scope, node.operand)
    python, tensor = {
        ast.USub: (operator.neg, arithmetic.negate),
        ast.UAdd: (operator.pos, lambda run, x: x),
        ast.Not: (operator.not_, arithmetic.logical_not),
        ast.Invert: (operator.invert, arithmetic.invert),
    }[type(node.op)]

    def apply(run: Run, env: Env) -> Any:
        value = operand(run, env)
        return tensor(run, value) if isinstance(value, Value) else python(value)  # type: ignore[operator]

    return apply


def _tuple(scope: Scope, node: ast.Tuple | ast.List) -> Code:
    if any(isinstance(item, ast.Starred) for item in node.elts):
        return refuse(node, "* in a tuple is not supported in a Triton kernel")
    codes = [compile_expression(scope, item) for item in node.elts]
    return lambda run, env: tuple([code(run, env) for code in codes])


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


def _slice(scope: Scope, node: ast.Slice) -> Code:
    codes = [
        None if part is None else compile_expression(scope, part) for part in (node.lower, node.upper, node.step)
    ]
    return lambda run, env: slice(*(None if code is None else code(run, env) for code in codes))


def _attribute(scope: Scope, node: ast.Attribute) -> Code:
    name = node.attr
    if _is_outside(scope, node):  # tl.float32 and the like, looked up once
        try:
            found = _outside(scope, node)
        except KernelError as error:
            return refuse(node, error.message)
        return lambda run, env: found
    base = compile_expression(scope, node.value)
    return lambda run, env: member(run, base(run, env), name)


def _is_outside(scope: Scope, node: ast.expr) -> bool:
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
    try:
        return unwrap(getattr(owner, name))
    except AttributeError:
        label = owner.__name__ if isinstance(owner, ModuleType) else repr(owner)
        return Missing(f"{label}.{name}")


def _joined(scope: Scope, node: ast.JoinedStr) -> Code:
    codes = [compile_expression(scope, value) for value in node.values]
    return lambda run, env: "".join(str(code(run, env)) for code in codes)


def _formatted(scope: Scope, node: ast.FormattedValue) -> Code:
    return compile_expression(scope, node.value)


# Calls


def _call(scope: Scope, node: ast.Call) -> Code:
    line = node.lineno
    arguments = _arguments(scope, node)
    if isinstance(node.func, ast.Attribute):
        method = _method_call(scope, node.func)
        if method is not None:
            return _bound(method, arguments, line)
    function = compile_expression(scope, node.func)

    def plain(run: Run, env: Env) -> Any:
        target = function(run, env)
        args, kwargs = arguments(run, env)
        run.line = line
        return invoke(run, target, args, kwargs)

    return plain


def _method_call(scope: Scope, node: ast.Attribute) -> Callable[[Run, Env], tuple[Any, tuple[Any, ...]]] | None:
    """x.f(…) on a value of the kernel: the function f, and x as its first argument."""
    if _is_outside(scope, node):
        return None
    base, name = compile_expression(scope, node.value), node.attr

    def find(run: Run, env: Env) -> tuple[Any, tuple[Any, ...]]:
        owner = base(run, env)
        table = METHODS if isinstance(owner, _WITH_METHODS) else None
        if isinstance(owner, Descriptor):
            table = DESCRIPTOR_METHODS
        if table is None:
            return member(run, owner, name), ()
        if name not in table:
            raise Rejected(f"{owner!r} has no method {name!r}")
        return Builtin(name, table[name]), (owner,)

    return find


def _bound(
    find: Callable[[Run, Env], tuple[Any, tuple[Any, ...]]],
    arguments: Callable[[Run, Env], tuple[list[Any], dict[str, Any]]],
    line: int,
) -> Code:
    def bound(run: Run, env: Env) -> Any:
        target, first = find(run, env)
        args, kwargs = arguments(run, env)
        run.line = line
        return invoke(run, target, [*first, *args], kwargs)

    return bound


def _arguments(scope: Scope, node: ast.Call) -> Callable[[Run, Env], tuple[list[Any], dict[str, Any]]]:
    simple = [compile_expression(scope, arg) for arg in node.args if not isinstance(arg, ast.Starred)]
    keywords = [(word.arg, compile_expression(scope, word.value)) for word in node.keywords]
    if len(simple) == len(node.args) and all(word.arg for word in node.keywords):
        return lambda run, env: (
            [code(run, env) for code in simple],
            {str(name): code(run, env) for name, code in keywords},
        )
    positional = [
        (
            isinstance(arg, ast.Starred),
            compile_expression(scope, arg.value if isinstance(arg, ast.Starred) else arg),
        )
        for arg in node.args
    ]

    def spread(run: Run, env: Env) -> tuple[list[Any], dict[str, Any]]:
        args: list[Any] = []
        for starred, code in positional:
            args.extend(code(run, env)) if starred else args.append(code(run, env))
        named: dict[str, Any] = {}
        for name, code in keywords:
            named.update({name: code(run, env)} if name else code(run, env))
        return args, named

    return spread


def invoke(run: Run, target: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Call whatever a kernel may call."""
    from grader.interpreter.jit import Function

    if isinstance(target, Builtin):
        try:
            return target.function(run, *args, **kwargs)
        except TypeError as error:
            trace = error.__traceback__
            if trace is not None and trace.tb_next is None:  # the call itself, not something inside it
                raise Rejected(f"tl.{target.name}: {error}".replace("()", "")) from None
            raise
    if isinstance(target, Function):
        line = run.line
        result = target.inline(run, args, kwargs)
        run.line = line
        return result
    if isinstance(target, ConstexprFunction):
        if any(isinstance(arg, Value) for arg in (*args, *kwargs.values())):
            raise Rejected(f"{target.__name__} only takes constants")
        return target(*args, **kwargs)
    if isinstance(target, RangeCall):
        raise Rejected(f"{target} can only be looped over")
    if target is Constexpr:
        if args and isinstance(args[0], Value):
            raise Rejected("tl.constexpr of a run-time value")
        return args[0]
    if isinstance(target, Missing):
        return target()
    if isinstance(target, DType) or not callable(target):
        raise Rejected(f"{target!r} cannot be called in a Triton kernel; to convert, use .to({target!r})")
    return target(*args, **kwargs)


_COMPILERS: dict[type[ast.AST], Callable[[Scope, Any], Code]] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.BinOp: _binop,
    ast.Compare: _compare,
    ast.BoolOp: _boolop,
    ast.UnaryOp: _unary,
    ast.Tuple: _tuple,
    ast.List: _tuple,
    ast.ListComp: _comprehension,
    ast.IfExp: _conditional,
    ast.Subscript: _subscript,
    ast.Slice: _slice,
    ast.Attribute: _attribute,
    ast.Call: _call,
    ast.JoinedStr: _joined,
    ast.FormattedValue: _formatted,
}
