"""@triton.jit: a function read from its source, run as a kernel or inside one."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from grader.interpreter import calls, loops, names, operators, statements  # noqa: F401  (they fill the tables)
from grader.interpreter.block import Block
from grader.interpreter.divergence import merge
from grader.interpreter.errors import Rejected
from grader.interpreter.launch import launch
from grader.interpreter.run import Call, Run
from grader.interpreter.scope import Scope, unwrap
from grader.interpreter.value import same_type, value_of

DEEPEST_CALL = 64


class Function:
    """A jitted function: a kernel when launched through `[grid]`, a device function when called inside one."""

    def __init__(self, fn: Callable[..., Any], **options: Any) -> None:
        self.fn = fn
        self.options = options
        self.name = self.__name__ = fn.__name__
        self.__module__ = fn.__module__
        self.__doc__ = fn.__doc__
        self.signature = inspect.signature(fn)
        self.parameters = list(self.signature.parameters)
        self.defaults = {
            name: unwrap(parameter.default)
            for name, parameter in self.signature.parameters.items()
            if parameter.default is not inspect.Parameter.empty
        }
        self.constants = {
            name
            for name, parameter in self.signature.parameters.items()
            if "constexpr" in (str(parameter.annotation) + getattr(parameter.annotation, "__name__", "")).lower()
        }

    @property
    def arg_names(self) -> list[str]:
        return self.parameters

    @cached_property
    def file(self) -> str:
        return inspect.getsourcefile(self.fn) or self.fn.__code__.co_filename

    @cached_property
    def tree(self) -> ast.FunctionDef:
        lines, first = inspect.getsourcelines(self.fn)
        module = ast.parse(textwrap.dedent("".join(lines)))
        ast.increment_lineno(module, first - 1)
        node = module.body[0]
        assert isinstance(node, ast.FunctionDef)
        return node

    @cached_property
    def globals(self) -> dict[str, Any]:
        """What the function sees outside itself."""
        if not self.fn.__closure__:
            return self.fn.__globals__
        return {**self.fn.__globals__, **inspect.getclosurevars(self.fn).nonlocals}

    @cached_property
    def body(self) -> Block:
        return Block(Scope(self), self.tree.body)

    def takes_lock(self) -> bool:
        """Whether a `while` with atomic_cas or atomic_xchg stands in it."""
        return any(
            isinstance(node, ast.While) and any(word in ast.unparse(node) for word in ("atomic_cas", "atomic_xchg"))
            for node in ast.walk(self.tree)
        )

    # Launching

    def __getitem__(self, grid: Any) -> Callable[..., Any]:
        return lambda *args, **kwargs: self.run(*args, grid=grid, **kwargs)

    def run(self, *args: Any, grid: Any, warmup: bool = False, **kwargs: Any) -> None:
        if not warmup:
            launch(self, grid, args, kwargs)

    def warmup(self, *_: Any, **__: Any) -> None:
        """Nothing is compiled ahead of time."""

    def __call__(self, *_: Any, **__: Any) -> Any:
        raise RuntimeError(f"{self.name} is a @triton.jit function: launch it with {self.name}[grid](…)")

    def bind(self, args: tuple[Any, ...] | list[Any], kwargs: dict[str, Any]) -> dict[str, Any]:
        """Arguments by name, with the defaults filled in."""
        if len(args) > len(self.parameters):
            raise Rejected(f"{self.name} takes {len(self.parameters)} arguments, got {len(args)}")
        bound = dict(zip(self.parameters, args, strict=False))
        for name, value in kwargs.items():
            if name in bound or name not in self.parameters:
                raise Rejected(
                    f"{self.name} got {'two values for' if name in bound else 'an unknown'} argument {name!r}"
                )
            bound[name] = value
        missing = [name for name in self.parameters if name not in bound and name not in self.defaults]
        if missing:
            raise Rejected(f"{self.name} misses the argument{'s' * (len(missing) > 1)} {', '.join(missing)}")
        return {name: bound.get(name, self.defaults.get(name)) for name in self.parameters}

    # Running

    def inline(self, run: Run, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """Called inside a kernel, for the programs that run now."""
        if len(run.calls) >= DEEPEST_CALL:
            raise Rejected(f"{self.name} calls itself: recursion is not supported in a Triton kernel")
        return self.execute(run, self.bind(args, kwargs))

    def execute(self, run: Run, env: dict[str, Any]) -> Any:
        programs = run.programs
        call = Call(self, np.arange(programs.count))
        run.calls.append(call)
        run.callers.append(run.line)
        self.body.run(run, env)
        run.calls.pop()  # not after an error: its frames are read from here
        run.line = run.callers.pop()
        run.programs = programs
        return self._result(call, programs.count)

    def _result(self, call: Call, count: int) -> Any:
        if not call.returns or all(value is None for _, value in call.returns):
            return None
        rows, first = call.returns[0]
        if len(rows) == count:
            return first
        returned = sum(len(rows) for rows, _ in call.returns)
        if returned < count:
            raise Rejected(f"{self.name} returns a value on some paths only")
        parts = [(rows, value if isinstance(value, tuple) else value_of(value)) for rows, value in call.returns]
        for _, value in parts:
            if not same_type(value, parts[0][1]):
                raise Rejected(f"{self.name} returns {parts[0][1]!r} on one path and {value!r} on another")
        return merge(f"the result of {self.name}", parts, count)


def jit(fn: Callable[..., Any] | None = None, **options: Any) -> Any:
    """The decorator, with or without options."""
    if fn is None:
        return lambda inner: Function(inner, **options)
    return Function(fn, **options)
