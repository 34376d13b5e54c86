"""Lanes without a value: what a masked load without `other` leaves behind, and what happens when it is used.

On a GPU such a lane holds whatever the register held. Here it carries a mark through elementwise operations, until
it is masked away again (by `tl.where`, or by the mask of a store), or until it is *used*: reduced, stored, branched
on, or turned into an address. A use is a finding, and the result is NaN.
"""

from __future__ import annotations

import numpy as np

from grader.interpreter.dtypes import Array, DType
from grader.interpreter.run import Run
from grader.interpreter.value import Value


def filler(run: Run, dtype: DType) -> Array:
    """What an undefined lane holds: NaN, for integers the largest number, or zero where the options ask for it."""
    if run.options.undefined == "zero":
        return np.zeros((), dtype.held)
    return np.asarray(np.nan if dtype.is_floating() else dtype.high, dtype.held)


def report_use(run: Run, value: Value, operation: str, active: Array | None = None) -> Array | None:
    """Note that `operation` uses undefined lanes of `value`; returns those lanes, None when there are none.

    `active` limits the use to some lanes; both broadcast to the tile with its leading axis.
    """
    if value.undefined is None:
        return None
    used = value.undefined if active is None else value.undefined & active
    if not used.any():
        return None
    tile = np.broadcast_to(used, (used.shape[0], *value.shape))
    first = np.unravel_index(int(tile.argmax()), tile.shape)
    origin = " or ".join(str(line) for line in sorted(run.unfilled))
    run.note(
        "undefined-lane",
        f"{operation} uses lanes that the masked load of line {origin} left undefined: "
        "give it `other`, or mask them out before this",
        row=int(first[0]),
        lane=tuple(int(i) for i in first[1:]),
    )
    return used


def spoil(run: Run, data: Array, dtype: DType, lost: Array | None) -> Array:
    """A result with NaN where it depends on undefined lanes."""
    if lost is None or not dtype.is_floating() or run.options.undefined == "zero":
        return data
    return np.where(lost, np.asarray(np.nan, data.dtype), data)
