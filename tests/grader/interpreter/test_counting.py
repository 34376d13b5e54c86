"""Counts per element against counting one by one, over random tiles."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from grader.interpreter.address import Reach
from grader.interpreter.counting import Counts, Touch
from grader.interpreter.dtypes import float32
from grader.interpreter.errors import Frame
from grader.interpreter.memory import Storage, View
from grader.interpreter.races import find_races

SIZE = 200
FRAME = Frame("file.py", "kernel", 1)


def storage() -> Storage:
    return Storage((0, "fp32"), np.zeros(SIZE, np.float32), float32, None)


def touch(kind: str, starts: Any, length: int, chosen: Any, programs: int, values: Any = None) -> Touch:
    view = View("x", storage(), 0, (SIZE,), (1,))
    reach = Reach(view, np.asarray(starts), length, chosen, axis=2 if length > 1 else 0)
    return Touch(kind, reach, np.arange(programs), FRAME, None, values)


def one_by_one(touches: list[Touch]) -> np.ndarray[Any, Any]:
    counts = np.zeros(SIZE, int)
    for one in touches:
        lines, chosen = one.lines()
        for program in range(len(one.programs)):
            row = program if lines.shape[0] > 1 else 0
            reached: set[int] = set()
            for place, start in enumerate(lines[row]):
                if chosen is None or chosen[row if chosen.shape[0] > 1 else 0, place]:
                    reached.update(range(start, start + one.reach.length))
            counts[list(reached)] += 1
    return counts


@pytest.mark.parametrize("seed", range(40))
def test_counts(seed: int) -> None:
    rng = np.random.default_rng(seed)
    counts, touches = Counts(SIZE), []
    for _ in range(6):
        programs, rows, length = int(rng.integers(1, 6)), int(rng.integers(1, 7)), int(rng.choice([1, 1, 4, 8, 16]))
        leading = 1 if rng.random() < 0.3 else programs
        pattern = rng.integers(0, SIZE - 16, (leading, rows, 1))
        if rng.random() < 0.5:  # rows that do not overlap, as most tiles have them
            pattern = np.arange(rows)[None, :, None] * 16 + rng.integers(0, 60, (leading, 1, 1))
        chosen = rng.random((leading, rows, 1)) < 0.7 if rng.random() < 0.5 else None
        one = touch("load", pattern, length, chosen, programs)
        touches.append(one)
        counts.add(one)
    assert counts.per_element().tolist() == one_by_one(touches).tolist()
    assert counts.most == int(one_by_one(touches).max())


@pytest.mark.parametrize("seed", range(40))
def test_races_against_looking_at_every_pair(seed: int) -> None:
    """Random loads and stores of single elements: a race is found exactly where two programs clash."""
    rng = np.random.default_rng(seed)
    programs, touches = 3, []
    for _ in range(int(rng.integers(2, 5))):
        kind = "store" if rng.random() < 0.5 else "load"
        starts = rng.integers(0, 12, (programs, 2))
        values = rng.integers(0, 2, (programs, 2)).astype(np.float32) if kind == "store" else None
        touches.append(touch(kind, starts, 1, None, programs, values))
    loads, stores = Counts(SIZE), Counts(SIZE)
    for one in touches:
        (loads if one.kind == "load" else stores).add(one)
    found = {race.kind for race in find_races(touches, stores, loads, (programs, 1, 1))}
    assert found == clashes(touches)


def clashes(touches: list[Touch]) -> set[str]:
    found = set()
    writer: dict[int, tuple[int, float]] = {}
    readers: dict[int, set[int]] = {}
    for one in touches:
        before = dict(writer)
        for program, row in enumerate(one.reach.starts):
            for lane, element in enumerate(row):
                if one.kind == "load":
                    if element in before and before[element][0] != program:
                        found.add("read-after-write")
                    continue
                assert one.values is not None
                value = float(one.values[program, lane])
                if readers.get(element, set()) - {program}:
                    found.add("write-after-read")
                last = writer.get(element)
                if last is not None and last[0] != program and last[1] != value:
                    found.add("write-write")
                writer[element] = (program, value)
        if one.kind == "load":
            for program, row in enumerate(one.reach.starts):
                for element in row:
                    readers.setdefault(element, set()).add(program)
    return found
