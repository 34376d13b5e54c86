"""Attention of one query over a share of its keys, and the merge of shares. Follows the type it is given."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def partial(q: Array, k: Array, v: Array) -> tuple[Array, Any]:
    """Normalised output and natural log-sum-exp; zeros and −∞ without keys."""
    if not len(k):
        return np.zeros_like(q), -np.inf
    scores = k @ q / q.dtype.type(math.sqrt(len(q)))
    weights = np.exp(scores - scores.max())
    total = weights.sum()
    return weights @ v / total, scores.max() + np.log(total)


def merge(o: Array, lse: Array) -> Array:
    """Σ exp(lse_i − L) · o_i, with L the log-sum-exp of all; zeros when there is nothing to merge."""
    largest = lse.max()
    if np.isneginf(largest):
        return np.zeros_like(o[0])
    weights = np.exp(lse - largest)
    return np.asarray(weights @ o / weights.sum())
