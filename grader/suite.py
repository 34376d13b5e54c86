"""A drill's trusted code, loaded from its folder: the suite and the reference. Only the judge's side does this."""

from __future__ import annotations

import copy
import hashlib
import importlib.util
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from grader.drill import Drill
from grader.kit import (
    Argument,
    Ask,
    Checked,
    Exact,
    Placed,
    RunningRow,
    Served,
    Suite,
    faults_of,
    faults_of_timed,
)

Reference = dict[str, Callable[..., object]]
Steps = Callable[[Ask, tuple[int, ...]], RunningRow]


class BrokenDrill(Exception):
    """A drill's suite or reference can't be used; the message says which file and why."""


@dataclass(frozen=True)
class Answers:
    """What the judge knows and a runner never does: the suite, and the reference function of each entry."""

    suite: Suite
    reference: Reference

    def expected(self, ask: Ask) -> tuple[Any, ...]:
        """The outputs that `ask` must give, in the order of ``ask.outputs``: float64 arrays, and plain values.

        Raises `BrokenDrill`.
        """
        return evaluate(self.reference[ask.entry], ask)


class Remembered(Answers):
    """As `Answers`, and a call that comes again is not computed again: the gate asks every file the same.

    Usable from several threads.
    """

    def __init__(self, answers: Answers) -> None:
        super().__init__(answers.suite, answers.reference)
        object.__setattr__(self, "_known", {})  # the class is frozen, its memory is not

    def expected(self, ask: Ask) -> tuple[Any, ...]:
        known: dict[bytes, tuple[Any, ...]] = self.__dict__["_known"]
        key = _key(ask)
        if key is None:
            return super().expected(ask)
        if key not in known:
            found = super().expected(ask)
            for array in found:
                if isinstance(array, np.ndarray):
                    array.flags.writeable = False
            known[key] = found
        return known[key]


def _key(ask: Ask) -> bytes | None:
    """A digest of what is called with what; none where an argument is more than data."""
    total = hashlib.sha256(f"{ask.entry} {ask.raises} {len(ask.outputs)}".encode())
    for argument in ask.args:
        if isinstance(argument, Placed):
            where = (argument.dtype, argument.shape, argument.strides, argument.offset)
            total.update(repr(where).encode() + argument.storage.tobytes())
        elif argument is None or isinstance(argument, int | float | bool | str):
            total.update(repr(argument).encode())
        else:
            return None
    return total.digest()


def load_answers(drill: Drill) -> Answers:
    """The suite and reference of `drill`, loaded again when one of the files changed. Raises `BrokenDrill`."""
    stamps = tuple((drill.folder / name).stat().st_mtime_ns for name in ("suite.py", "reference.py"))
    return _load(drill.folder, tuple(entry.name for entry in drill.entries), stamps)


def load_steps(drill: Drill) -> Steps | None:
    """The drill's `steps.py`: the row behind an element of the result, to be shown tile by tile. Most have none."""
    path = drill.folder / "steps.py"
    return _steps(drill.folder, path.stat().st_mtime_ns) if path.exists() else None


@lru_cache(maxsize=64)
def _steps(folder: Path, stamp: int) -> Steps:
    function: Steps | None = getattr(_run(folder, "steps"), "row", None)
    if not callable(function):
        raise BrokenDrill(f"{folder.name}/steps.py: no function row")
    return function


@lru_cache(maxsize=64)
def _load(folder: Path, entries: tuple[str, ...], stamps: tuple[int, ...]) -> Answers:
    suite = getattr(_run(folder, "suite"), "SUITE", None)
    if not isinstance(suite, Suite):
        raise BrokenDrill(f"{folder.name}/suite.py: no SUITE of type grader.kit.Suite")
    if faults := [*faults_of(suite), *(faults_of_timed(suite.timed) if suite.timed else ())]:
        raise BrokenDrill("\n".join(f"{folder.name}/suite.py: {fault}" for fault in faults))
    module = _run(folder, "reference")
    reference: Reference = {}
    for entry in entries:
        function = getattr(module, entry, None)
        if not callable(function):
            raise BrokenDrill(f"{folder.name}/reference.py: no function {entry}")
        reference[entry] = function
    return Answers(suite, reference)


def _run(folder: Path, stem: str) -> ModuleType:
    """One file of a drill as a module of its own name, so that two drills never share one."""
    name = f"_drill_{folder.name}_{stem}"
    path = folder / f"{stem}.py"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise BrokenDrill(f"{folder.name}/{stem}.py: not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up there
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise BrokenDrill(f"{folder.name}/{stem}.py: {type(error).__name__}: {error}") from error
    finally:
        sys.modules.pop(name, None)
    return module


def evaluate(function: Callable[..., object], ask: Ask) -> tuple[Any, ...]:
    """`function` applied to what a kernel would see; each result checked against the output that it stands for.

    A call that must raise has no results: the reference is asked to raise the same.
    """
    arguments = tuple(plain_value(argument) for argument in ask.args)
    if ask.raises:
        return _refused(function, arguments, ask)
    result = function(*arguments)
    parts: Sequence[object] = result if isinstance(result, tuple) else (result,)
    if len(parts) != len(ask.outputs):
        raise BrokenDrill(f"the reference of {ask.entry} gives {len(parts)} results for {len(ask.outputs)} outputs")
    checked: list[Any] = []
    for part, output in zip(parts, ask.outputs, strict=True):
        if isinstance(output, Exact | Checked):
            checked.append(part)
            continue
        array = np.asarray(part, dtype=np.float64)
        if array.shape != output.shape:
            raise BrokenDrill(f"the reference of {ask.entry} gives {output.name} the shape {array.shape}")
        if np.isnan(array).any():
            raise BrokenDrill(f"the reference of {ask.entry} gives NaN in {output.name}")
        checked.append(array)
    return tuple(checked)


def _refused(function: Callable[..., object], arguments: tuple[object, ...], ask: Ask) -> tuple[Any, ...]:
    if ask.outputs:
        raise BrokenDrill(f"a call of {ask.entry} promises outputs and to raise {ask.raises}")
    try:
        function(*arguments)
    except Exception as error:
        if ask.raises in (kind.__name__ for kind in type(error).__mro__):
            return ()
        raise
    raise BrokenDrill(f"the reference of {ask.entry} does not raise {ask.raises}")


def plain_value(argument: Argument) -> object:
    """What a reference function gets for an argument: float64 values, the function that is served, or the plain
    value itself, copied.
    """
    if isinstance(argument, Served):
        return argument.function
    return argument.values.copy() if isinstance(argument, Placed) else copy.deepcopy(argument)
