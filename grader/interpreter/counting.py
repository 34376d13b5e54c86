"""How often each element of a storage was loaded or stored, from rows of elements.

A row adds one at its start and takes one away behind its end; the running sum of that is the count of each
element. So a tile costs as much as it has rows. An element counts once per instruction and program, however many
lanes of the tile reach it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.interpreter.address import Reach
from grader.interpreter.dtypes import Array
from grader.interpreter.errors import Frame


@dataclass(slots=True)
class Touch:
    """One load, store or atomic update of all programs that ran it. `exempt`: programs not searched for races."""

    kind: str
    reach: Reach
    programs: Array
    frame: Frame
    exempt: Array | None
    values: Array | None = None

    @property
    def times(self) -> int:
        """Programs that each flat start stands for."""
        return len(self.programs) if self.reach.rows == 1 else 1

    def lines(self) -> tuple[Array, Array | None]:
        """Starts as (1 or programs, rows of the tile), and which of them are active."""
        reach = self.reach
        if reach.chosen is None:
            return reach.starts.reshape(reach.starts.shape[0], -1), None
        shape = np.broadcast_shapes(reach.starts.shape, reach.chosen.shape)
        flat = (shape[0], -1)
        return np.broadcast_to(reach.starts, shape).reshape(flat), np.broadcast_to(reach.chosen, shape).reshape(
            flat
        )


class Counts:
    """Counts per element, kept as differences until asked for. `lanes`: all active lanes together."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.lanes = 0
        self._steps: NDArray[np.int32] | None = None
        self._points: NDArray[np.int32] | None = None

    def add(self, touch: Touch) -> None:
        length = touch.reach.length
        if length == 0:
            return
        lines, chosen = touch.lines()
        starts = lines.reshape(-1) if chosen is None else lines[chosen]
        self.lanes += starts.size * length * touch.times
        if not _distinct(lines, length):
            self._add_once(lines, chosen, length, touch.times)
        elif length == 1:
            self._add_points(starts, touch.times)
        else:
            self._add_rows(starts, length, touch.times)

    def _add_rows(self, starts: Array, length: int, times: int) -> None:
        if self._steps is None:
            self._steps = np.zeros(self.size + 1, np.int32)
        each = np.int32(times)  # of the very type: ufunc.at is thirty times slower when it has to convert
        np.add.at(self._steps, starts, each)
        np.subtract.at(self._steps, starts + length, each)

    def _add_points(self, index: Array, times: int) -> None:
        if self._points is None:
            self._points = np.zeros(self.size, np.int32)
        if index.size * 4 > self.size:
            self._points += (np.bincount(index, minlength=self.size) * times).astype(np.int32)
        else:
            np.add.at(self._points, index, np.int32(times))

    def _add_once(self, lines: Array, chosen: Array | None, length: int, times: int) -> None:
        """Rows that overlap within one program: each element once a program."""
        program = np.arange(lines.shape[0])[:, None, None]
        every = lines[:, :, None] + np.arange(length) + program * self.size
        active = every.reshape(-1) if chosen is None else every[chosen].reshape(-1)
        self._add_points(np.unique(active) % self.size, times)

    def per_element(self) -> NDArray[np.int32]:
        out = np.zeros(self.size, np.int32) if self._steps is None else np.cumsum(self._steps[:-1], dtype=np.int32)
        return out if self._points is None else out + self._points

    @property
    def most(self) -> int:
        """How often the busiest element was touched."""
        return int(self.per_element().max(initial=0))


def _distinct(lines: Array, length: int) -> bool:
    """Whether no program reaches an element twice in one instruction."""
    if lines.shape[1] == 1:
        return True
    gaps: Any = lines[:, 1:] - lines[:, :-1]
    if gaps.min() >= length:
        return True
    shape = lines - lines[:, :1]
    alike = (shape == shape[:1]).all()
    ordered = np.sort(shape[:1] if alike else shape, axis=1)
    return bool((ordered[:, 1:] - ordered[:, :-1]).min() >= length)
