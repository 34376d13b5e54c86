"""Programs that touch one element with no order between them.

Programs run in any order and at the same time, so when one stores an element that another stores with a
different value, or loads, the result depends on luck. Atomic updates are no races; what a program does after an
atomic update of its own is taken to be ordered by it (tickets, locks) and not searched. Two programs that store
the same value are let pass.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from grader.interpreter.counting import Counts, Touch
from grader.interpreter.dtypes import Array
from grader.interpreter.errors import Frame

NOBODY, SEVERAL = -1, -2


@dataclass(frozen=True)
class Race:
    kind: str
    message: str
    frame: Frame
    tensor: str
    element: str


def find_races(touches: list[Touch], stores: Counts, loads: Counts, grid: tuple[int, int, int]) -> Iterator[Race]:
    """Races in one storage during one launch, the first of each kind a line."""
    if grid == (1, 1, 1):
        return
    stored = stores.per_element()
    if stored.max(initial=0) <= 1 and not (loads.lanes and (stored.astype(bool) & (loads.per_element() > 0)).any()):
        return  # every element stored once at most, and none of those loaded
    replay = _Replay(len(stored), touches, grid)
    for touch in touches:
        if touch.kind == "load":
            yield from replay.load(touch)
        elif touch.kind == "store":
            yield from replay.store(touch)


class _Replay:
    """Goes through the touches in order, and keeps for each element who stored it last, what, and who loaded it."""

    def __init__(self, size: int, touches: list[Touch], grid: tuple[int, int, int]) -> None:
        self.grid = grid
        self.writer = np.full(size, NOBODY, np.int64)
        self.reader = np.full(size, NOBODY, np.int64)
        raw = touches[0].reach.view.storage.flat.dtype
        self.value = np.zeros(size, raw)

    def load(self, touch: Touch) -> Iterator[Race]:
        index, who = _spread(touch)
        last = self.writer[index]
        bad = (last != NOBODY) & (last != who) & _searched(touch, who)
        if bad.any():
            at = int(bad.argmax())
            yield self._race(
                "read-after-write", touch, index[at], who[at], "loads", f"program {self._id(last[at])} stores"
            )
        self._remember_readers(index, who)

    def _remember_readers(self, index: Array, who: Array) -> None:
        before = self.reader[index]
        self.reader[index] = who
        several = ((before != NOBODY) & (before != who)) | (self.reader[index] != who) | (who == SEVERAL)
        self.reader[index[several]] = SEVERAL

    def store(self, touch: Touch) -> Iterator[Race]:
        index, who = _spread(touch)
        assert touch.values is not None
        values = touch.values.reshape(-1)
        searched = _searched(touch, who)
        seen = self.reader[index]
        bad = (seen != NOBODY) & (seen != who) & searched
        if bad.any():
            at = int(bad.argmax())
            other = "other programs load" if seen[at] == SEVERAL else f"program {self._id(seen[at])} loads"
            yield self._race("write-after-read", touch, index[at], who[at], "stores", other)
        last, held = self.writer[index], self.value[index]
        clash = (last != NOBODY) & (last != who) & _differ(held, values)
        self.writer[index], self.value[index] = who, values
        now = self.writer[index]
        within = (now != who) & _differ(self.value[index], values)
        bad = (clash | within) & searched
        if bad.any():
            at = int(bad.argmax())
            first = last[at] if clash[at] else now[at]
            other = f"program {self._id(first)} stores another value"
            yield self._race("write-write", touch, index[at], who[at], "stores", other)

    def _race(self, kind: str, touch: Touch, index: int, who: int, does: str, other: str) -> Race:
        view = touch.reach.view
        element = view.element(int(index))
        mine = "several programs" if who == SEVERAL else f"program {self._id(who)}"
        message = f"{mine} {does} {element}, to which {other} in the same launch"
        if kind != "write-write":
            message = f"{mine} {does} {element}, which {other} in the same launch"
        return Race(kind, message + ", in no order", touch.frame, view.name, element)

    def _id(self, number: int) -> tuple[int, int, int]:
        gx, gy, _ = self.grid
        n = int(number)
        return n % gx, n // gx % gy, n // (gx * gy)


def _spread(touch: Touch) -> tuple[Array, Array]:
    """Every active element and the program that touches it; SEVERAL where all programs do."""
    lines, chosen = touch.lines()
    if lines.shape[0] == 1:
        alone = touch.programs[0] if len(touch.programs) == 1 else SEVERAL
        if touch.kind == "store" and alone == SEVERAL:
            alone = touch.programs[-1]  # with one value for all, the last one stands for them
        programs = np.full(lines.shape, alone)
    else:
        programs = np.broadcast_to(touch.programs[:, None], lines.shape)
    starts = lines.reshape(-1) if chosen is None else lines[chosen]
    who = programs.reshape(-1) if chosen is None else programs[chosen]
    index = (starts[:, None] + np.arange(touch.reach.length)).reshape(-1)
    return index, np.repeat(who, touch.reach.length)


def _searched(touch: Touch, who: Array) -> Array:
    if touch.exempt is None:
        return np.ones(who.shape, bool)
    if len(who) and who[0] == SEVERAL:
        return np.full(who.shape, not touch.exempt[touch.programs].any())
    return ~touch.exempt[who]


def _differ(a: Array, b: Array) -> Array:
    """Different bits; so that NaN equals NaN."""
    unsigned = f"u{a.itemsize}"
    return np.asarray(np.ascontiguousarray(a).view(unsigned) != np.ascontiguousarray(b).view(unsigned))
