"""Calls in a kernel → code, and what a call does by what is called."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from grader.interpreter.blocks import BlockPointer
from grader.interpreter.compiling import Code, compile_expression, compiles
from grader.interpreter.descriptors import METHODS as DESCRIPTOR_METHODS
from grader.interpreter.descriptors import Descriptor
from grader.interpreter.divergence import Env
from grader.interpreter.dtypes import DType
from grader.interpreter.errors import Rejected
from grader.interpreter.members import METHODS, member
from grader.interpreter.names import is_outside
from grader.interpreter.run import Run
from grader.interpreter.scope import Builtin, Constexpr, ConstexprFunction, Missing, RangeCall, Scope
from grader.interpreter.value import Value

_WITH_METHODS = (Value, BlockPointer)


@compiles(ast.Call)
def _call(scope: Scope, node: ast.Call) -> Code:
    return compile_call(scope, node)


def compile_call(scope: Scope, node: ast.Call, *, unused: bool = False) -> Code:
    """`unused`: the statement throws the result away, so an atomic need not say what was there before."""
    line = node.lineno
    arguments = _arguments(scope, node)
    find = _method_call(scope, node.func) if isinstance(node.func, ast.Attribute) else None
    if find is None:
        find = _plain_call(compile_expression(scope, node.func))

    def call(run: Run, env: Env) -> Any:
        target, first = find(run, env)
        args, kwargs = arguments(run, env)
        run.line = line
        run.result_unused = unused
        result = invoke(run, target, [*first, *args], kwargs)
        run.result_unused = False
        return result

    return call


def _plain_call(function: Code) -> Callable[[Run, Env], tuple[Any, tuple[Any, ...]]]:
    return lambda run, env: (function(run, env), ())


def _method_call(scope: Scope, node: ast.Attribute) -> Callable[[Run, Env], tuple[Any, tuple[Any, ...]]] | None:
    """x.f(…) on a value of the kernel: the function f, and x as its first argument."""
    if is_outside(scope, node):
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
    run.result_unused = False
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
    if refusal := _not_called(target):
        raise Rejected(refusal)
    return target(*args, **kwargs)


def _not_called(target: Any) -> str:
    """Why a thing of the language cannot be called; empty where it can."""
    if target is Value or target is Descriptor:
        name = "tensor" if target is Value else "tensor_descriptor"
        return f"a kernel makes no tl.{name} by its name; the type is there to be asked for with isinstance"
    if isinstance(target, DType) or not callable(target):
        return f"{target!r} cannot be called in a Triton kernel; to convert, use .to({target!r})"
    return ""
