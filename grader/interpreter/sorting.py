"""Sorting along the last axis."""

from __future__ import annotations

from typing import Any

import numpy as np

from grader.interpreter.errors import Rejected
from grader.interpreter.run import Run
from grader.interpreter.shapes import axis_of
from grader.interpreter.undefined import report_use
from grader.interpreter.value import Value


def sort(run: Run, x: Value, dim: Any = None, descending: Any = False) -> Value:
    return _sorted(run, x, dim, bool(descending), "tl.sort")


def topk(run: Run, x: Value, k: Any, dim: Any = None) -> Value:
    """The k largest, the largest first."""
    if k < 1 or k & (k - 1) or k > x.shape[-1]:
        raise Rejected(f"tl.topk: k must be a power of 2 up to {x.shape[-1]}, got {k}")
    ordered = _sorted(run, x, dim, True, "tl.topk")
    return run.make(x.dtype, (*x.shape[:-1], k), ordered.data[..., :k])


def bitonic_merge(run: Run, x: Value, dim: Any = None, descending: Any = False) -> Value:
    """Sorts a bitonic sequence: the result is that of a full sort."""
    return _sorted(run, x, dim, bool(descending), "tl.bitonic_merge")


def _sorted(run: Run, x: Value, dim: Any, descending: bool, name: str) -> Value:
    last = len(x.shape) - 1
    if dim is not None and axis_of(dim, len(x.shape)) != last:
        raise Rejected(f"{name} only sorts along the last axis")
    report_use(run, x, name)
    ordered = np.sort(x.full, axis=-1)
    return run.make(x.dtype, x.shape, ordered[..., ::-1] if descending else ordered)
