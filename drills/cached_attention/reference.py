"""Attention over a cache that grows, head by head and query by query."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def attend(
    q: Array, k_new: Array, v_new: Array, k_cache: Array, v_cache: Array, cached: int
) -> tuple[Array, Array, Array]:
    """Output and both caches after the call. Raises `ValueError` when the new tokens do not fit."""
    heads, new, depth = q.shape
    kv_heads, room, _ = k_cache.shape
    end = cached + new
    if end > room:
        raise ValueError(f"{end} tokens do not fit into {room}")
    k_cache[:, cached:end], v_cache[:, cached:end] = k_new, v_new
    out = np.zeros_like(q)
    for head in range(heads):
        kv = head // (heads // kv_heads)
        for i in range(new):
            seen = cached + i + 1
            scores = k_cache[kv, :seen] @ q[head, i] / q.dtype.type(depth**0.5)
            weights = np.exp(scores - scores.max())
            out[head, i] = weights @ v_cache[kv, :seen] / weights.sum()
    return out, k_cache, v_cache
