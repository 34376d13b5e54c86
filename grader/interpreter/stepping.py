"""A step view: the variables of one program after each statement, as plain data that a page can draw.

watch = Stepper(program=(2, 0, 0))
configure(recorder=record, stepper=watch)
…launch…
watch.steps        # what changed, statement by statement; one loop turn is one pass over its lines
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from grader.interpreter.blocks import BlockPointer
from grader.interpreter.descriptors import Descriptor
from grader.interpreter.value import Value, is_number

if TYPE_CHECKING:
    from grader.interpreter.run import Run

Scalar = float | int | bool | str


@dataclass(frozen=True)
class Shown:
    """A variable of one program. `values` are row-major, the first of them where `cut`; NaN and ∞ are words.

    Pointers show the element they point at, lanes without a value show as "undefined".
    """

    type: str
    shape: tuple[int, ...]
    values: tuple[Scalar, ...]
    cut: bool = False
    tensor: str | None = None  # what a pointer points into


@dataclass(frozen=True)
class Step:
    """After one statement: where it stands and what it changed. `depth` counts device functions on the way in."""

    function: str
    line: int
    depth: int
    changed: dict[str, Shown]


class Stepper:
    """Watches one program. At most `most_steps` are kept and `most_values` of each variable."""

    def __init__(
        self, program: tuple[int, int, int] = (0, 0, 0), *, most_steps: int = 2000, most_values: int = 1024
    ) -> None:
        self.program = program
        self.steps: list[Step] = []
        self.cut = False
        self._most_steps = most_steps
        self._most_values = most_values
        self._seen: list[dict[str, Any]] = []  # by depth of calls, what each variable was last

    def begin(self) -> None:
        """A launch begins: only the last one is kept."""
        self.steps.clear()
        self._seen.clear()
        self.cut = False

    def after(self, run: Run, env: dict[str, Any], line: int) -> None:
        """A statement has run for the current programs."""
        x, y, z = self.program
        number = x + run.grid[0] * (y + run.grid[1] * z)
        place = np.flatnonzero(run.programs.rows == number)
        if not len(place):
            return
        depth = len(run.calls)
        del self._seen[depth:]
        while len(self._seen) < depth:
            self._seen.append({})
        seen = self._seen[-1]
        changed = {name: value for name, value in env.items() if seen.get(name) is not value}
        seen.update(changed)
        shown = {name: found for name, value in changed.items() if (found := self._show(value, int(place[0])))}
        if not shown:
            return
        if len(self.steps) >= self._most_steps:
            self.cut = True
            return
        self.steps.append(Step(run.call.function.name, line, depth - 1, shown))

    def _show(self, value: Any, row: int) -> Shown | None:
        if isinstance(value, BlockPointer | Descriptor) or value is None:
            return None
        if is_number(value) or isinstance(value, str):
            return Shown("constexpr", (), (_plain(value),))
        if not isinstance(value, Value):
            return None
        mine = _of_row(value.full, row).reshape(-1)
        tensor, offset = None, 0
        if value.memory is not None:
            tensor, offset = value.memory.name, value.memory.offset
        values = [_plain(x - offset if offset else x) for x in mine[: self._most_values]]
        if value.undefined is not None:
            lost = np.broadcast_to(_of_row(value.undefined, row), value.shape).reshape(-1)
            values = ["undefined" if no else x for x, no in zip(values, lost, strict=False)]
        return Shown(str(value.dtype), value.shape, tuple(values), mine.size > self._most_values, tensor)


def _of_row(data: Any, row: int) -> Any:
    return data[row if data.shape[0] > 1 else 0]


def _plain(x: Any) -> Scalar:
    """A number as JSON can carry it."""
    if isinstance(x, np.generic):
        x = x.item()
    if isinstance(x, float) and not np.isfinite(x):
        return "NaN" if x != x else "∞" if x > 0 else "−∞"
    out: Scalar = x
    return out
