"""A function that the learner's code may call and never sees: the black box of a diagnosis.

The judge runs it, on what came over the wire; in the learner's process there is only a number. The function itself
must treat its arguments as hostile (`BadCall`), cost little whatever they are, and take the same time whatever it
hides: a learner can measure that.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from grader.kit.dtypes import Raw


class BadCall(Exception):
    """The arguments are not what the contract says: raised as `error` in the learner's code, with these words."""

    def __init__(self, error: str, words: str) -> None:
        super().__init__(words)
        self.error = error


@dataclass(frozen=True)
class Served:
    """An argument of an `Ask`: `function` may be called `limit` times, refused calls included, and no more.

    It gets NumPy arrays (types that NumPy has not come as `Foreign`) and plain values, and returns one of both.
    """

    function: Callable[..., Any]
    limit: int
    parameters: tuple[str, ...]
    name: str = "kernel"
    most_bytes: int = 1 << 20  # of all arrays of one call


@dataclass(frozen=True)
class Foreign:
    """Stands for a value of a type that no drill takes; only the type's name is known."""

    type_name: str


def as_matrix(value: object, name: str) -> Raw:
    """`value` as a finite float32 matrix of at least one element, or `BadCall`."""
    if not isinstance(value, np.ndarray):
        raise BadCall("TypeError", f"{name} must be a NumPy array, not {_kind(value)}")
    if value.dtype.kind not in "fiu":
        raise BadCall("TypeError", f"{name} must hold real numbers, not {value.dtype}")
    if value.ndim != 2 or not value.size:
        raise BadCall("ValueError", f"{name} must have two axes, none of them empty; its shape is {value.shape}")
    with np.errstate(over="ignore"):
        matrix = value.astype(np.float32)
    if not np.isfinite(matrix).all():
        raise BadCall("ValueError", f"{name} must be finite in float32")
    return matrix


def _kind(value: object) -> str:
    return value.type_name[:80] if isinstance(value, Foreign) else type(value).__name__
