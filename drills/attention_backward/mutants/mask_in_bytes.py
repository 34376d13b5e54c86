"""Tiles for everything, but a mask of bytes is made once for all of them.

ask: A mask is a tensor too. How many bytes has yours at S = 2560?
expect: rule_broken
"""

import math

import torch

TILE = 64


def backward(q, k, v, o, lse, do, causal):
    S, D = q.shape
    scale = 1 / math.sqrt(D)
    dq, dk, dv = torch.zeros(S, D), torch.zeros(S, D), torch.zeros(S, D)
    at = torch.arange(S)
    hidden = (at[None, :] > at[:, None]) if causal else torch.zeros(S, S, dtype=torch.bool)
    delta = (do * o).sum(dim=1)
    for i in range(0, S, TILE):
        rows = slice(i, min(i + TILE, S))
        for j in range(0, rows.stop if causal else S, TILE):
            cols = slice(j, min(j + TILE, S))
            p = torch.exp(q[rows] @ k[cols].T * scale - lse[rows, None])
            p = p.masked_fill(hidden[rows, cols], 0.0)
            ds = p * (do[rows] @ v[cols].T - delta[rows, None]) * scale
            dv[cols] += p.T @ do[rows]
            dq[rows] += ds @ k[cols]
            dk[cols] += ds.T @ q[rows]
    return dq, dk, dv
