"""The kernels of a learner's file, read from its text: none of its host code runs.

Kernels are defined without being executed, since our interpreter reads them as text; constants are evaluated when
they are plain expressions. Everything else in the file is passed over. What a kernel needs of it is then missing,
and the kernel cannot run.

Reading order: `definitions` → `_Reader`.
"""

from __future__ import annotations

import ast
import contextlib
import math
import sys
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from grader import blame
from grader.interpreter.jit import Function
from grader.interpreter.scope import ConstexprFunction
from grader.interpreter.standin import MODULES

MODULE: Final = "submission"


@dataclass(frozen=True)
class Language:
    """What a file imports as triton: the modules by name, and what its two decorators make of a function."""

    modules: Mapping[str, Any]
    jit: Callable[..., Any]
    constexpr_function: Callable[..., Any]


OURS: Final = Language(MODULES, Function, ConstexprFunction)
JIT, CONSTEXPR = "<jit>", "<constexpr_function>"  # names that no file can use
BUILTINS: Final[dict[str, Any]] = {
    f.__name__: f for f in (abs, bool, float, int, len, list, max, min, range, round, sum, tuple)
}
_PLAIN: Final = (
    *(ast.Constant, ast.Name, ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.Tuple, ast.List),
    *(ast.Dict, ast.Attribute, ast.Call, ast.keyword, ast.Subscript, ast.operator, ast.unaryop, ast.boolop),
    *(ast.cmpop, ast.expr_context),
)
_STATEMENTS: Final = (ast.Return, ast.If, ast.Assign, ast.AugAssign, ast.For, ast.While, ast.Pass, ast.Break)


def definitions(source: str, filename: str, language: Language = OURS) -> dict[str, Any]:
    """The names that kernels see: triton's modules, plain constants, and every function as a kernel of `language`.

    Raises `SyntaxError`, `ValueError` or `RecursionError` for text that is not Python.
    """
    blame.remember(source, filename)
    return _Reader(filename, language).read(ast.parse(source))


class _Reader:
    """Goes through a file from top to bottom."""

    def __init__(self, filename: str, language: Language) -> None:
        self._filename = filename
        self._imported: set[str] = set()
        self._names: dict[str, Any] = {
            "__name__": MODULE,
            "__builtins__": {**BUILTINS, "__import__": _importer(language.modules)},
            JIT: language.jit,
            CONSTEXPR: language.constexpr_function,
        }

    def read(self, tree: ast.Module) -> dict[str, Any]:
        module = types.ModuleType(MODULE)
        module.__file__ = self._filename
        sys.modules[MODULE] = module
        for statement in tree.body:
            self._define(statement)
        inner = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and _decorated(node, "jit"))
        for function in inner:  # kernels inside of host functions, without what these know
            if function.name not in self._names:
                self._define(function)
        return self._names

    def _define(self, statement: ast.stmt) -> None:
        found = self._admitted(statement)
        if found is None:
            return
        code = compile(ast.Module([found], []), self._filename, "exec", dont_inherit=True)
        with contextlib.suppress(Exception):  # what it needs is missing, so it is missing too
            exec(code, self._names)  # noqa: S102 - imports of our stand-ins, plain expressions, definitions

    def _admitted(self, statement: ast.stmt) -> ast.stmt | None:
        """The statement without whatever could run code of the learner; None when nothing is left."""
        match statement:
            case ast.Import() | ast.ImportFrom():
                return self._import(statement)
            case ast.Assign(targets=targets, value=value):
                return statement if all(isinstance(t, ast.Name) for t in targets) and self._plain(value) else None
            case ast.AnnAssign(target=ast.Name() as target, value=ast.expr() as value) if self._plain(value):
                return ast.copy_location(ast.Assign([target], value), statement)
            case ast.FunctionDef():
                return self._function(statement)
        return None

    def _import(self, statement: ast.Import | ast.ImportFrom) -> ast.stmt | None:
        if isinstance(statement, ast.ImportFrom):
            if statement.level or not _ours(statement.module or ""):
                return None
            self._imported |= {alias.asname or alias.name for alias in statement.names}
            return statement
        names = [alias for alias in statement.names if _ours(alias.name)]
        self._imported |= {alias.asname or alias.name.split(".")[0] for alias in names}
        return ast.copy_location(ast.Import(names), statement) if names else None

    def _function(self, statement: ast.FunctionDef) -> ast.stmt | None:
        arguments = statement.args
        if not all(self._plain(default) for default in (*arguments.defaults, *arguments.kw_defaults) if default):
            return None
        computes = _decorated(statement, "constexpr_function")
        if computes and not all(self._computes(inner) for inner in statement.body):
            return None
        for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
            if argument.annotation is not None:
                text = ast.Constant(ast.unparse(argument.annotation))
                argument.annotation = ast.copy_location(text, argument.annotation)
        first = statement.decorator_list[0] if statement.decorator_list else statement
        decorator = ast.Name(CONSTEXPR if computes else JIT, ast.Load())
        statement.decorator_list = [ast.copy_location(decorator, first)]
        statement.returns = None
        return statement

    def _computes(self, statement: ast.stmt) -> bool:
        """A statement of a function on constants, which Python itself runs."""
        return all(
            isinstance(node, _STATEMENTS) or (isinstance(node, _PLAIN) and self._harmless(node))
            for node in ast.walk(statement)
        )

    def _plain(self, expression: ast.expr) -> bool:
        return all(isinstance(node, _PLAIN) and self._harmless(node) for node in ast.walk(expression))

    def _harmless(self, node: ast.AST) -> bool:
        """Attributes are those of imported modules; called are their functions and a few of Python's."""
        if isinstance(node, ast.Attribute):
            return not node.attr.startswith("_") and self._from_import(node.value)
        if isinstance(node, ast.Call):
            called = node.func
            return isinstance(called, ast.Attribute) or (
                isinstance(called, ast.Name) and (called.id in BUILTINS or called.id in self._imported)
            )
        return not isinstance(node, ast.Name) or not node.id.startswith("__")

    def _from_import(self, node: ast.expr) -> bool:
        while isinstance(node, ast.Attribute):
            node = node.value
        return isinstance(node, ast.Name) and node.id in self._imported


def _ours(module: str) -> bool:
    return module == "math" or module.split(".")[0] == "triton"


def _importer(modules: Mapping[str, Any]) -> Callable[..., Any]:
    """`import` inside the file: what stands for triton, and math. Dotted names come as Python wants them."""

    def importing(name: str, *_: Any, **__: Any) -> Any:
        if name == "math":
            return math
        fromlist = _[2] if len(_) > 2 else ()
        found = modules.get(name if fromlist else name.split(".")[0])
        if found is None:
            raise ImportError(name)
        return found

    return importing


def _decorated(function: ast.FunctionDef, name: str) -> bool:
    return any(ast.unparse(d).split("(")[0].split(".")[-1] == name for d in function.decorator_list)
