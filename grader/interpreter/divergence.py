"""Programs that part ways: cutting all variables into rows, running each path on its rows, joining afterwards.

Nothing is run twice and nothing is run masked: a path sees a smaller batch. Rows are counted within the programs
that entered the statement.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from grader.interpreter.blocks import BlockPointer
from grader.interpreter.descriptors import Descriptor
from grader.interpreter.dtypes import Array
from grader.interpreter.errors import Rejected, Unsupported
from grader.interpreter.run import Programs, Rows, Run
from grader.interpreter.value import Value, collapse, is_number, same_type, value_of

Env = dict[str, Any]
_ADDRESSES = (BlockPointer, Descriptor)
Part = tuple[Array, Env]  # rows, and the variables that they ended with


def as_rows(rows: Array) -> Rows:
    """Consecutive rows as a slice, so that taking them makes views."""
    if len(rows) and rows[-1] - rows[0] + 1 == len(rows) and (rows[1:] > rows[:-1]).all():
        return slice(int(rows[0]), int(rows[-1]) + 1)
    return rows


def take(value: Any, rows: Rows) -> Any:
    """A variable for some of the programs."""
    if isinstance(value, Value):
        return _take(value, rows)
    if isinstance(value, tuple):
        return tuple(take(part, rows) for part in value)
    if isinstance(value, _ADDRESSES):
        return value.map(lambda part: _take(part, rows))
    return value


def _take(value: Value, rows: Rows) -> Value:
    lost = value.undefined
    if all(part.shape[0] == 1 for part in value.parts) and (lost is None or lost.shape[0] == 1):
        return value
    parts = (part if part.shape[0] == 1 else part[rows] for part in value.parts)
    if lost is not None and lost.shape[0] > 1:
        lost = lost[rows]
    return collapse(Value(value.dtype, value.shape, *parts, memory=value.memory, undefined=lost))


def take_all(env: Env, rows: Rows, names: Iterable[str] | None = None) -> Env:
    if names is None:
        return {name: take(value, rows) for name, value in env.items()}
    return {name: take(env[name], rows) for name in names if name in env}


def compact(run: Run, env: Env, alive: Array) -> None:
    """Go on with the surviving rows only."""
    rows = as_rows(alive)
    for name in env:
        env[name] = take(env[name], rows)
    run.programs = run.programs.select(rows)
    run.call.rows = run.call.rows[rows]


class Branching:
    """Remembers who ran before the paths parted; `enter` starts a path, `join` puts the variables together."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.programs: Programs = run.programs
        self.rows: Array = run.call.rows
        self.parts: list[Part] = []

    def enter(self, rows: Array) -> None:
        selected = as_rows(rows)
        self.run.programs = self.programs.select(selected)
        self.run.call.rows = self.rows[selected]

    def leave(self, rows: Array, env: Env, alive: Array | None = None) -> None:
        """A path ended with these variables; `alive`: those of its rows that did not return."""
        self.parts.append((rows if alive is None else rows[alive], env))

    def join(self, env: Env, names: Iterable[str]) -> Array | None:
        """Write `names` back into `env`. Returns the surviving rows, None when all survive."""
        run = self.run
        run.programs, run.call.rows = self.programs, self.rows
        alive = np.sort(np.concatenate([rows for rows, _ in self.parts]))
        if len(alive) == 0:
            return alive
        if len(alive) < self.programs.count:
            compact(run, env, alive)
        place = np.zeros(self.programs.count, np.int64)
        place[alive] = np.arange(len(alive))
        for name in names:
            self._join_one(env, name, place, len(alive))
        return None if len(alive) == self.programs.count else alive

    def _join_one(self, env: Env, name: str, place: Array, count: int) -> None:
        found: list[tuple[Array, Any]] = []
        for rows, variables in self.parts:
            if not len(rows):
                continue
            if name in variables:
                found.append((place[rows], variables[name]))
            elif name in env:
                found.append((place[rows], take(env[name], as_rows(place[rows]))))
            else:
                env.pop(name, None)
                return
        env[name] = merge(name, found, count)


def merge(name: str, parts: list[tuple[Array, Any]], count: int) -> Any:
    """One variable from its values on several paths; each part says where its rows go among `count`."""
    values = [value for _, value in parts]
    first = values[0]
    if all(value is first for value in values):
        return first
    if isinstance(first, tuple) and all(isinstance(v, tuple) and len(v) == len(first) for v in values):
        return tuple(merge(name, [(rows, v[i]) for rows, v in parts], count) for i in range(len(first)))
    if isinstance(first, _ADDRESSES) and all(type(v) is type(first) for v in values):
        return first.with_scalars(
            merge(name, [(rows, v.scalars()[i]) for rows, v in parts], count) for i in range(len(first.scalars()))
        )
    if all(not isinstance(v, Value) and type(v) is type(first) and v == first for v in values):
        return first
    if not all(isinstance(v, Value) or is_number(v) for v in values):
        raise Rejected(f"{name!r} is {first!r} on one path and something else on another")
    return _merge_values(name, [(rows, value_of(v)) for rows, v in parts], count)


def _merge_values(name: str, parts: list[tuple[Array, Value]], count: int) -> Value:
    first = parts[0][1]
    for _, value in parts:
        if not same_type(value, first):
            raise Rejected(f"{name!r} has type {first} on one path and {value} on another")
        if value.memory is not first.memory:
            raise Unsupported(f"{name!r} points into different tensors on different paths")
    size = np.broadcast_shapes(*(value.data.shape[1:] for _, value in parts))
    out = np.empty_like(first.data, shape=(count, *size))  # a transposed tile stays one: sums see the order
    lost = None
    if any(value.undefined is not None for _, value in parts):
        lost = np.zeros((count, *first.shape), bool)
    for rows, value in parts:
        out[as_rows(rows)] = value.data
        if lost is not None and value.undefined is not None:
            lost[as_rows(rows)] = value.undefined
    return collapse(Value(first.dtype, first.shape, out, memory=first.memory, undefined=lost))
