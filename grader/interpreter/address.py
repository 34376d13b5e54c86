"""Which elements of a tensor a tile of pointers reaches.

Most tiles are rows of consecutive elements. `Reach` describes them by the start of each row and the length of a
row, found from the parts of the pointer without building the tile; single elements are rows of length 1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from grader.interpreter.dtypes import Array
from grader.interpreter.errors import Fault
from grader.interpreter.memory import View
from grader.interpreter.run import Run
from grader.interpreter.value import Value, align

SHORTEST_ROW = 4  # below, element by element is as quick


@dataclass(slots=True)
class Reach:
    """Rows of `length` elements from `starts` (1 or programs, then the tile's axes with `axis` at size 1).

    Columns `low` to `low + length` of the tile's `axis` are active, in the rows that `chosen` (None: all) marks.
    `axis` is counted in the array, behind the axis of the programs; 0 for single elements.
    """

    view: View
    starts: Array
    length: int
    chosen: Array | None
    axis: int = 0
    low: int = 0

    @property
    def active(self) -> Array:
        """The starts of active rows, flat. With one row for all programs it stands for all of them."""
        if self.chosen is None:
            return self.starts.reshape(-1)
        shape = np.broadcast_shapes(self.starts.shape, self.chosen.shape)
        active: Array = np.broadcast_to(self.starts, shape)[np.broadcast_to(self.chosen, shape)]
        return active

    @property
    def rows(self) -> int:
        """1 when all programs reach the same elements."""
        return int(max(self.starts.shape[0], 1 if self.chosen is None else self.chosen.shape[0]))


def reach_of(pointer: Value, mask: Value | None, view: View) -> Reach:
    """What `pointer` reaches under `mask`, by rows if it can be."""
    return _by_rows(pointer, mask, view) or _by_element(pointer, mask, view)


def _by_element(pointer: Value, mask: Value | None, view: View) -> Reach:
    index = pointer.data
    if index.shape[1:] != pointer.shape:
        index = np.broadcast_to(index, (index.shape[0], *pointer.shape))
    chosen = None if mask is None else align(mask.data, len(mask.shape), len(pointer.shape))
    return Reach(view, index, 1, chosen)


def _by_rows(pointer: Value, mask: Value | None, view: View) -> Reach | None:
    rank = len(pointer.shape)
    for axis in (rank, rank - 1) if rank > 1 else (rank,) if rank else ():
        length = pointer.shape[axis - 1]
        if length < SHORTEST_ROW:
            continue
        starts = _row_starts(pointer.parts, axis, rank)
        if starts is None:
            continue
        columns = _columns(mask, axis, length)
        if columns is not None:
            low, high, chosen = columns
            return Reach(view, starts + low if low else starts, max(0, high - low), chosen, axis, low)
    return None


def _row_starts(parts: tuple[Array, ...], axis: int, rank: int) -> Array | None:
    """The first pointers along `axis`, if the pointers step by one along it and nothing else varies there."""
    along: Array | None = None
    across: Array | None = None
    for part in parts:
        if part.shape[axis] == 1:
            across = part if across is None else across + part
        elif any(part.shape[k] > 1 for k in range(1, rank + 1) if k != axis):
            return None
        else:
            along = part if along is None else along + part
    if along is None:
        return None
    line = along.reshape(along.shape[0], -1)
    if line[0, -1] - line[0, 0] != line.shape[1] - 1 or not (line[:, 1:] - line[:, :-1] == 1).all():
        return None
    first = along.take([0], axis)
    return first if across is None else across + first


def _columns(mask: Value | None, axis: int, length: int) -> tuple[int, int, Array | None] | None:
    """A mask as one range of columns for all programs and a mask of rows; None when it is not of that form."""
    low, high = 0, length
    chosen: Array | None = None
    for part in () if mask is None else mask.parts:
        if part.shape[axis] == 1:
            chosen = part if chosen is None else chosen & part
        elif part.size == length:
            on = np.flatnonzero(part)
            if on.size == 0:
                return 0, 0, chosen
            if on[-1] - on[0] + 1 != on.size:
                return None
            low, high = max(low, int(on[0])), min(high, int(on[-1]) + 1)
        else:
            return None
    return low, max(low, high), chosen


def aligned_mask(mask: Value, rank: int) -> Value | None:
    """The mask with its parts aligned to the pointers' rank; None when it is true everywhere."""
    if all(part.all() for part in mask.parts):
        return None
    parts = (align(part, len(mask.shape), rank) for part in mask.parts if not part.all())
    return Value(mask.dtype, mask.shape, *parts, undefined=mask.undefined)


def check_bounds(run: Run, reach: Reach, pointer: Value, mask: Value | None, what: str) -> Array:
    """The flat active starts. Outside the storage is a fault, outside the tensor's own view a warning."""
    active = reach.active
    if active.size == 0 or reach.length == 0:
        return active[:0]
    view = reach.view
    lowest, highest = int(active.min()), int(active.max()) + reach.length - 1
    if lowest < 0 or highest >= view.storage.size:
        _outside(run, view, pointer, mask, what, 0, view.storage.size - 1)
    if lowest < view.low or highest > view.high:
        _outside(run, view, pointer, mask, what, view.low, view.high)
    return active


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _outside(run: Run, view: View, pointer: Value, mask: Value | None, what: str, low: int, high: int) -> None:
    """Say which element, program and lane; raise unless the access stays inside the storage."""
    rank = len(pointer.shape)
    shape = (run.programs.count, *pointer.shape)
    index = np.broadcast_to(pointer.data, shape)
    bad = (index < low) | (index > high)
    if mask is not None:
        bad = bad & np.broadcast_to(align(mask.data, len(mask.shape), rank), shape)
    if not bad.any():
        return
    first = np.unravel_index(int(bad.argmax()), shape)
    lane = tuple(int(i) for i in first[1:])
    element = int(index[first])
    fatal = high == view.storage.size - 1 and low == 0
    where = "the memory of the tensor" if fatal else "the tensor, inside the memory it shares with others"
    lanes, programs = int(bad.sum()), int(bad.reshape(shape[0], -1).any(1).sum())
    program = run.program(int(run.programs.rows[int(first[0])]))
    message = (
        f"{what} outside {where}: element {element - view.offset} of {view.name} (shape {list(view.shape)}), "
        f"program {program}, lane {lane}; {_count(lanes, 'lane')} of {_count(programs, 'program')}"
    )
    run.note(
        "out-of-bounds" if fatal else "outside-view",
        message,
        severity="error" if fatal else "warning",
        view=view,
        element=element,
        row=int(first[0]),
        lane=lane,
    )
    if fatal:
        raise Fault(message)
