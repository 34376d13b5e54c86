"""The state of a launch while one chunk of its programs runs. Every function of the language takes it first."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from grader.interpreter.dtypes import Array, DType
from grader.interpreter.errors import Frame
from grader.interpreter.value import Interval, Shape, Value, collapse

if TYPE_CHECKING:
    from grader.interpreter.jit import Function
    from grader.interpreter.memory import View
    from grader.interpreter.record import Recorder
    from grader.interpreter.stepping import Stepper

Rows = Array | slice


@dataclass(frozen=True)
class Options:
    """How strict a launch is, and how it is cut into chunks.

    `undefined`: what lanes hold that a masked load without `other` leaves out: "nan" (for integers a large
    number) or "zero", as Triton's interpreter has it. `tf32`: round the operands of fp32 dots as tensor cores do,
    unless the kernel asks for input_precision="ieee". `budget`: elements of one tile over all programs of a chunk.
    """

    undefined: str = "nan"
    tf32: bool = False
    dot_minimum: bool = True
    budget: int = 262_144
    chunk: int | None = None


class Rechunk(Exception):
    """A tile of this chunk is larger than the budget. Only raised before the first side effect of the chunk."""

    def __init__(self, per_program: int) -> None:
        self.per_program = per_program


class Programs:
    """The programs that run now. `ids[axis]` has one entry when all agree; `rows` are their numbers, x fastest."""

    __slots__ = ("count", "ids", "rows")

    def __init__(self, ids: tuple[Array, Array, Array], rows: Array) -> None:
        self.ids = ids
        self.rows = rows
        self.count = len(rows)

    def select(self, rows: Rows) -> Programs:
        x, y, z = (axis if axis.shape[0] == 1 else _once(axis[rows]) for axis in self.ids)
        return Programs((x, y, z), self.rows[rows])


def programs_of(rows: Array, grid: tuple[int, int, int]) -> Programs:
    gx, gy, _ = grid
    x, y, z = (_once(axis.astype(np.int32)) for axis in (rows % gx, rows // gx % gy, rows // (gx * gy)))
    return Programs((x, y, z), rows)


def _once(axis: Array) -> Array:
    return axis[:1] if axis.size and (axis == axis[0]).all() else axis


@dataclass
class Call:
    """One function call in progress: which rows of its programs are still in it, and what the others returned."""

    function: Function
    rows: Array
    returns: list[tuple[Array, Any]] = field(default_factory=list)
    lost: dict[str, str] = field(default_factory=dict)  # names that one path defined, and where


class Run:
    """One chunk in progress."""

    def __init__(self, grid: tuple[int, int, int], options: Options, recorder: Recorder) -> None:
        self.grid = grid
        self.options = options
        self.recorder = recorder
        self.limit: float = float("inf")
        self.stepper: Stepper | None = None
        self.start(np.arange(0))

    def start(self, rows: Array) -> None:
        """Begin a chunk."""
        self.programs = programs_of(rows, self.grid)
        self.started = self.programs.count
        self.dirty = False  # a side effect happened: this chunk can't be begun again
        self.largest = 1  # elements of the largest array
        self.line = 0
        self.calls: list[Call] = []
        self.callers: list[int] = []  # line of each call on the way in
        self.result_unused = False  # the statement throws the result of its call away
        self.unfilled: set[int] = set()  # lines of masked loads that left lanes undefined
        self.synchronised: Array | None = None  # programs that did an atomic, once one did

    @property
    def call(self) -> Call:
        return self.calls[-1]

    # Making values

    def make(
        self,
        dtype: DType,
        shape: Shape,
        data: Array,
        *,
        memory: View | None = None,
        interval: Interval | None = None,
        undefined: Array | None = None,
        exact: bool = False,
    ) -> Value:
        """The result of an operation: rounded to its type unless `exact`, counted against the memory budget."""
        if dtype.round is not None and not exact:
            data = dtype.round(data)
        if data.size > self.largest:
            self.largest = data.size
            if data.size > self.limit and not self.dirty and self.started > 1:
                rows = data.shape[0]
                raise Rechunk(data.size // rows if rows > 1 else data.size)
        value = Value(dtype, shape, data, memory=memory, interval=interval, undefined=undefined)
        return collapse(value) if shape == () else value

    # Telling where

    def frames(self) -> tuple[Frame, ...]:
        lines = [*self.callers, self.line]
        return tuple(
            Frame(call.function.file, call.function.name, line)
            for call, line in zip(self.calls, lines[1:], strict=True)
        )

    def frame(self) -> Frame:
        """The innermost function and line."""
        function = self.calls[-1].function
        return Frame(function.file, function.name, self.line)

    def exempt(self) -> Array | None:
        """Programs that did an atomic so far: what they do from here on may be ordered by it."""
        return None if self.synchronised is None else self.synchronised.copy()

    def program(self, row: int) -> tuple[int, int, int]:
        """The program id of the program numbered `row`."""
        gx, gy, _ = self.grid
        return row % gx, row // gx % gy, row // (gx * gy)

    def note(
        self,
        kind: str,
        message: str,
        *,
        severity: str = "error",
        view: View | None = None,
        element: int | None = None,
        row: int | None = None,
        lane: tuple[int, ...] | None = None,
    ) -> None:
        """A finding at the current line. `row` counts within the running programs."""
        frame = self.frame()
        program = None
        if row is not None:
            program = self.program(int(self.programs.rows[row if self.programs.count > row else 0]))
        self.recorder.note(
            kind,
            message,
            frame,
            severity=severity,
            tensor=view.name if view else None,
            element=None if element is None or view is None else view.element(element),
            program=program,
            lane=lane,
        )
