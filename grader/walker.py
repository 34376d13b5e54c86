"""One program of a launch, turn by turn: what its loop over tiles carries, for one row.

Runs inside a sandbox, on kernels read from the file's text, like `grader.replay`. First all launches run once to
find the program that stores the element asked about, and the row of its tile; then again with that program watched.

Reading order: `walk` → `Watcher` (who stores, what is loaded) → `loops_of` (which loop) → `RowStepper` (its turns).
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from grader import interpreter, wire
from grader.definitions import definitions
from grader.interpreter.address import Reach
from grader.interpreter.jit import Function
from grader.interpreter.run import Run
from grader.interpreter.scope import Constexpr
from grader.interpreter.value import Value
from grader.traced import Rebuilt, Untraceable

LONGEST: Final = 500
MOST_TURNS: Final = 64
MOST_NAMES: Final = 16
MOST_VALUES: Final = 128  # of one row of one variable
MOST_RANGES: Final = 512  # of elements that one turn loaded


def walk(order: wire.Walk) -> wire.Answer:
    """The loop of the program that stores the element, or why there is none to show."""
    try:
        return _walk(order)
    except Untraceable as error:
        return wire.Failed(kind="refused", message=str(error))
    except Exception as error:
        return wire.Failed(kind="raised", message=f"{type(error).__name__}: {error}"[:LONGEST])


def _walk(order: wire.Walk) -> wire.Answer:
    names = definitions(order.source, order.filename)
    for name, value in order.globals.items():
        names.setdefault(name, Constexpr(value))
    watcher = Watcher(order)
    _run(order, names, watcher, None)
    if watcher.found is None:
        raise Untraceable("no kernel stores that element")
    place = watcher.found
    kernel: Function = names[order.launches[place.launch].kernel]
    loops = loops_of(kernel.tree)
    if not loops:
        raise Untraceable("its kernel has no loop that carries something")
    stepper = RowStepper(place, loops, watcher)
    _run(order, names, watcher, stepper)
    if stepper.restarted:
        raise Untraceable("the loop runs several times in one program")
    return wire.Walked(
        id=order.id,
        kernel=kernel.name,
        line=loops[0].line,
        program=place.program,
        carried=sorted(loops[0].carried)[:MOST_NAMES],
        cut=stepper.cut,
        turns=[wire.Turn(index=turn.index, state=turn.state, loaded=_ranges(turn.loads)) for turn in stepper.turns],
    )


@dataclass(frozen=True)
class Place:
    """Where an element is stored: by which launch, program, and in which of the `rows` rows of its tile."""

    launch: int
    number: int  # of the program, x fastest
    program: tuple[int, int, int]
    rows: int
    row: int


class Watcher(interpreter.Recorder):
    """Finds who stores an element, and notes what one program loads from one memory."""

    def __init__(self, order: wire.Walk) -> None:
        super().__init__()
        self._order = order
        self._stored = self._reading = 0  # addresses
        self._number = -1
        self.found: Place | None = None
        self.program: int | None = None
        self.loads: list[NDArray[np.int64]] = []

    def starts(self, rebuilt: Rebuilt) -> None:
        """All launches run from the beginning, in these memories."""
        self._number = -1
        self._stored, self._reading = (
            int(rebuilt.memories[name].ctypes.data) if name in rebuilt.memories else 0
            for name in (self._order.stored, self._order.reading)
        )

    def begin(self, *args: Any, **kwargs: Any) -> None:
        super().begin(*args, **kwargs)
        self._number += 1

    def store(self, run: Run, reach: Reach, values: Any) -> None:
        if reach.view.storage.key[0] != self._stored:
            return
        element = self._order.element
        first = reach.starts
        hit = (first <= element) & (element < first + reach.length)
        if reach.chosen is not None:
            hit = hit & reach.chosen
        found = np.argwhere(np.broadcast_to(hit, np.broadcast_shapes(hit.shape, first.shape)))
        if len(found):
            self.found = self._place(run, reach, found[-1])

    def load(self, run: Run, reach: Reach) -> None:
        if self.program is None or reach.view.storage.key[0] != self._reading or not reach.starts.size:
            return
        mine = np.flatnonzero(run.programs.rows == self.program)
        if not len(mine):
            return
        first = reach.starts[mine[0] if len(reach.starts) > 1 else 0]
        if reach.chosen is not None:
            chosen = reach.chosen[mine[0] if len(reach.chosen) > 1 else 0]
            first = np.broadcast_to(first, np.broadcast_shapes(first.shape, chosen.shape))
            first = first[np.broadcast_to(chosen, first.shape)]
        self.loads.append((first.reshape(-1, 1) + np.arange(reach.length)).reshape(-1))

    def atomic(self, *args: Any) -> None:
        """Nothing is looked for there."""

    def end(self) -> None:
        """Nothing is counted."""

    def mark(self) -> None:
        """Nothing is taken back."""

    def _place(self, run: Run, reach: Reach, where: NDArray[np.int64]) -> Place:
        number = int(run.programs.rows[where[0] if run.programs.count > 1 else 0])
        x, y, _ = run.grid
        program = (number % x, number // x % y, number // (x * y))
        if len(where) < 3:  # a program of one row
            return Place(self._number, number, program, 1, 0)
        if reach.axis == 1:  # rows of elements go down the tile
            return Place(
                self._number, number, program, reach.length, int(self._order.element - reach.starts[tuple(where)])
            )
        return Place(self._number, number, program, reach.starts.shape[1], int(where[1]))


@dataclass(frozen=True)
class Loop:
    """A loop of a kernel: its lines, its variable, and the names that it changes."""

    line: int
    last: int
    target: str
    carried: frozenset[str]
    changed: frozenset[str]


def loops_of(kernel: ast.FunctionDef) -> list[Loop]:
    """The loops that hand the most from turn to turn; several where a kernel goes over its tiles in parts."""
    found = [
        _loop(kernel, node)
        for node in ast.walk(kernel)
        if isinstance(node, ast.For) and isinstance(node.target, ast.Name)
    ]
    most = max((len(loop.carried) for loop in found), default=0)
    if not most:
        return []
    best = [loop for loop in found if len(loop.carried) == most]
    innermost = [one for one in best if not any(one is not o and one.line <= o.line <= one.last for o in best)]
    return sorted((one for one in innermost if one.carried == innermost[0].carried), key=lambda one: one.line)


def _loop(kernel: ast.FunctionDef, node: ast.For) -> Loop:
    assert isinstance(node.target, ast.Name)
    changed = frozenset(name for part in node.body for name in _stored(part))
    before = {name for part in kernel.body for name, line in _lines(part) if line < node.lineno}
    return Loop(node.lineno, node.end_lineno or node.lineno, node.target.id, changed & before, changed)


def _stored(node: ast.AST) -> set[str]:
    return {name for name, _ in _lines(node)}


def _lines(node: ast.AST) -> set[tuple[str, int]]:
    names = (n for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))
    return {(name.id, name.lineno) for name in names}


@dataclass
class Turned:
    """One turn, while it is watched."""

    index: int
    state: dict[str, list[float]] = field(default_factory=dict)
    loads: list[NDArray[np.int64]] = field(default_factory=list)


class RowStepper(interpreter.Stepper):
    """Watches one program's loop, and of each variable one row."""

    def __init__(self, place: Place, loops: list[Loop], watcher: Watcher) -> None:
        super().__init__(place.program)
        self._place = place
        self._loops = loops
        self._watcher = watcher
        self._last: tuple[int, int] | None = None
        self._seen_turns: set[tuple[int, int]] = set()
        self.turns: list[Turned] = []
        self.restarted = False

    def after(self, run: Run, env: dict[str, Any], line: int) -> None:
        if len(run.calls) != 1:
            return
        place = np.flatnonzero(run.programs.rows == self._watcher.program)
        loads, self._watcher.loads = self._watcher.loads, []
        number = next((n for n, loop in enumerate(self._loops) if loop.line < line <= loop.last), None)
        if not len(place) or number is None or self.cut:
            return
        loop = self._loops[number]
        index = _number(env.get(loop.target), int(place[0]))
        if index is None:
            return
        if (number, index) != self._last:
            self.restarted |= (number, index) in self._seen_turns
            self._seen_turns.add((number, index))
            self._last = number, index
            if len(self.turns) >= MOST_TURNS:
                self.cut = True
                return
            self.turns.append(Turned(index))
        turn = self.turns[-1]
        turn.loads += loads
        for name in sorted(loop.changed):
            row = self._row(env.get(name), int(place[0]))
            if row is not None and (name in turn.state or len(turn.state) < 2 * MOST_NAMES):
                turn.state[name] = row

    def _row(self, value: Any, place: int) -> list[float] | None:
        """One row of a variable; None for pointers and whatever is not a row."""
        if not isinstance(value, Value) or value.memory is not None or value.dtype.is_ptr():
            return None
        mine = np.asarray(value.full[place if value.full.shape[0] > 1 else 0], dtype=np.float64)
        rows, row = self._place.rows, self._place.row
        if mine.ndim == 0:
            return [float(mine)]
        if mine.ndim == 1:
            if rows == 1:
                return [float(x) for x in mine[:MOST_VALUES]]
            return [float(mine[row])] if len(mine) == rows else None
        if mine.ndim != 2 or rows not in mine.shape:
            return None
        chosen = mine[row] if mine.shape[0] == rows else mine[:, row]
        return [float(x) for x in chosen[:MOST_VALUES]]


def _run(order: wire.Walk, names: dict[str, Any], watcher: Watcher, stepper: RowStepper | None) -> None:
    numbers = [number for number, value in enumerate(order.args) if isinstance(value, wire.Array)]
    rebuilt = Rebuilt([order.args[number] for number in numbers], numbers, order.memories, names)
    watcher.storages.clear()
    watcher.starts(rebuilt)
    for number, launch in enumerate(order.launches):
        kernel = names.get(launch.kernel)
        if not isinstance(kernel, Function) or any(name not in launch.arguments for name in kernel.parameters):
            raise Untraceable(f"`{launch.kernel}` cannot be launched again")
        for fill in launch.fills:
            _fill(fill, rebuilt)
        watched = stepper is not None and watcher.found is not None and number == watcher.found.launch
        if watched and watcher.found is not None:
            watcher.program = watcher.found.number
        interpreter.configure(recorder=watcher, stepper=stepper if watched else None)
        given = [rebuilt.argument(launch.arguments[name]) for name in kernel.parameters]
        kernel.run(*given, grid=launch.grid, num_warps=launch.num_warps)


def _fill(fill: wire.Fill, rebuilt: Rebuilt) -> None:
    """What the host had put into a whole memory."""
    memory = rebuilt.memories.get(fill.memory)
    width = len(fill.value)
    if memory is not None and fill.whole and width in (1, 2, 4, 8) and not fill.memory.startswith("arg"):
        elements = memory[: len(memory) // width * width].view(f"u{width}")
        elements[:] = np.frombuffer(fill.value, dtype=elements.dtype)[0]


def _number(value: Any, place: int) -> int | None:
    """A loop's variable in one program."""
    if isinstance(value, Value):
        data = value.full
        return int(data[place if data.shape[0] > 1 else 0]) if value.shape == () else None
    return value if isinstance(value, int) else None


def _ranges(loads: list[NDArray[np.int64]]) -> list[tuple[int, int]]:
    """Elements as runs of neighbours."""
    if not loads:
        return []
    elements = np.unique(np.concatenate(loads))
    if not len(elements):
        return []
    cuts = np.flatnonzero(np.diff(elements) > 1)
    first, last = elements[np.r_[0, cuts + 1]], elements[np.r_[cuts, len(elements) - 1]]
    return [(int(a), int(b) + 1) for a, b in zip(first[:MOST_RANGES], last[:MOST_RANGES], strict=True)]
