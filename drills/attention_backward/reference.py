"""Gradients of attention from what the forward pass kept, a strip of queries at a time."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
STRIP = 256


def backward(
    q: Array, k: Array, v: Array, o: Array, lse: Array, do: Array, causal: bool
) -> tuple[Array, Array, Array]:
    """dq, dk, dv, each [S, D]; P from exp(s − lse), the row sums of P∘dP from do·o."""
    keys, scale = len(k), q.dtype.type(q.shape[1] ** -0.5)
    dq, dk, dv = np.zeros_like(q), np.zeros_like(k), np.zeros_like(v)
    delta = (do * o).sum(axis=1)
    for start in range(0, len(q), STRIP):
        rows = slice(start, min(start + STRIP, len(q)))
        end = rows.stop if causal else keys
        p = np.exp(q[rows] @ k[:end].T * scale - lse[rows, None])
        if causal:
            p *= np.arange(end)[None, :] <= np.arange(rows.start, rows.stop)[:, None]
        ds = p * (do[rows] @ v[:end].T - delta[rows, None]) * scale
        dq[rows] = ds @ k[:end]
        dk[:end] += ds.T @ q[rows]
        dv[:end] += p.T @ do[rows]
    return dq, dk, dv
