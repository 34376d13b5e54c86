"""How a drill says what is timed on a GPU: one call at full size, and how a small part of it can be checked.

A full-size result is too large to compute in float64 after each submission, so the judge looks at a part that it
draws by chance once the call has been made.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from grader.kit.case import Argument, Output
from grader.kit.dtypes import DTYPES

Slices = tuple[slice, ...]


@dataclass(frozen=True)
class Fresh:
    """A contiguous array argument whose contents are new in every timed call: normal, `spread` wide."""

    shape: tuple[int, ...]
    dtype: str = "fp32"
    spread: float = 1.0

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * DTYPES[self.dtype].storage.itemsize


@dataclass(frozen=True)
class Part:
    """A piece of a timed call that stands alone: the reference, given these pieces of the arguments, must return
    those pieces of the outputs. An argument with ``None`` is given as it is.
    """

    args: tuple[Slices | None, ...]
    outputs: tuple[Slices, ...]


@dataclass(frozen=True)
class Timed:
    """What the GPU lane times. `flops` counts the products and sums that the contract needs on the matrix units,
    0 where moving the bytes once is what limits it. All of `outputs` are returned, none written in place.
    """

    entry: str
    args: tuple[Fresh | Argument, ...]
    outputs: tuple[Output, ...]
    part: Callable[[np.random.Generator], Part]
    words: str  # "8192 rows × 8192 columns, fp32"
    flops: float = 0.0

    @property
    def nbytes(self) -> int:
        """The least that must move: each fresh argument read once, each output written once."""
        read = sum(argument.nbytes for argument in self.args if isinstance(argument, Fresh))
        return read + sum(math.prod(o.shape) * DTYPES[o.dtype].storage.itemsize for o in self.outputs)


def faults_of_timed(timed: Timed) -> list[str]:
    """What is wrong with it as written, in sentences."""
    fresh = [argument for argument in timed.args if isinstance(argument, Fresh)]
    part = timed.part(np.random.default_rng(0))
    faults = [] if fresh else ["the timed call has no fresh argument, so it could be answered from memory"]
    if any(not DTYPES[argument.dtype].is_float for argument in fresh):
        faults.append("fresh arguments of the timed call must be of a floating type")
    if any(output.argument is not None for output in timed.outputs) or not timed.outputs:
        faults.append("the timed call must return its outputs")
    if len(part.args) != len(timed.args) or len(part.outputs) != len(timed.outputs):
        faults.append("a part of the timed call must name a piece of each argument and output")
        return faults
    pieces = [(a.shape, p) for a, p in zip(timed.args, part.args, strict=True) if isinstance(a, Fresh)]
    pieces += [(o.shape, p) for o, p in zip(timed.outputs, part.outputs, strict=True)]
    if any(piece is None or not _inside(shape, piece) for shape, piece in pieces):
        faults.append("a part of the timed call must give a start and a stop inside each axis")
    return faults


def _inside(shape: tuple[int, ...], piece: Slices) -> bool:
    return len(piece) == len(shape) and all(
        isinstance(cut.start, int) and isinstance(cut.stop, int) and 0 <= cut.start < cut.stop <= length
        for cut, length in zip(piece, shape, strict=True)
    )
