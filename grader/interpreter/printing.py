"""print, tl.device_print, tl.device_assert, tl.static_assert, tl.static_print: per program."""

from __future__ import annotations

from typing import Any

import numpy as np

from grader.interpreter.casting import cast
from grader.interpreter.dtypes import int1
from grader.interpreter.errors import Fault, Rejected
from grader.interpreter.logic import bit_or, invert
from grader.interpreter.run import Run
from grader.interpreter.value import Value, is_number, value_of


def device_print(run: Run, prefix: Any, *args: Any, hex: Any = False) -> None:
    """One line a program: its id, the prefix, the values."""
    run.dirty = True  # what was printed stays printed: no fresh start of this chunk
    label = f" {prefix}" if prefix else ""
    for place, row in enumerate(run.programs.rows):
        shown = (_shown(arg, place, bool(hex)) for arg in args)
        print(f"{run.program(int(row))}{label}", *shown)  # noqa: T201


def _shown(arg: Any, place: int, hex: bool) -> Any:
    if not isinstance(arg, Value):
        return arg
    data = arg.full
    mine = data[place if data.shape[0] > 1 else 0]
    if hex:
        return np.array2string(mine, formatter={"int": lambda x: f"0x{int(x):02x}"})
    return mine


def device_assert(run: Run, cond: Any, msg: Any = "", mask: Any = None) -> None:
    condition = cast(run, cond, int1) if not is_number(cond) else value_of(bool(cond))
    if mask is not None:
        condition = bit_or(run, condition, invert(run, cast(run, mask, int1)))
    if condition.data.all():
        return
    failed = np.unravel_index(int(condition.full.argmin()), condition.full.shape)
    row = int(failed[0]) if condition.full.shape[0] > 1 else 0
    lane = f", lane {tuple(int(i) for i in failed[1:])}" if condition.shape else ""
    raise Fault(
        f"assertion failed: {msg or 'tl.device_assert'}; program {run.program(int(run.programs.rows[row]))}{lane}"
    )


def assume(run: Run, cond: Any) -> None:
    device_assert(run, cond, "tl.assume of something that is not so")


def static_assert(run: Run, cond: Any, msg: Any = "") -> None:
    if isinstance(cond, Value):
        raise Rejected("tl.static_assert needs a constant")
    if not cond:
        raise Rejected(f"static assertion failed{': ' + str(msg) if msg else ''}")


def static_print(run: Run, *values: Any, sep: str = " ", end: str = "\n", **_: Any) -> None:
    print(*values, sep=sep, end=end)  # noqa: T201


def same(run: Run, input: Any, *_: Any) -> Any:
    """Hints to the compiler change nothing: tl.multiple_of, tl.max_contiguous, tl.max_constancy."""
    return input


def debug_barrier(run: Run) -> None:
    """Programs of this evaluator have no threads to wait for."""
