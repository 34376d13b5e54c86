"""The mask is multiplied with weights that may be infinite.

ask: What is exp(s − lse) for a key that the row does not see and that scores far higher? And that times zero?
expect: wrong_answer
"""

import math

import torch

TILE = 64


def backward(q, k, v, o, lse, do, causal):
    S, D = q.shape
    scale = 1 / math.sqrt(D)
    dq, dk, dv = torch.zeros(S, D), torch.zeros(S, D), torch.zeros(S, D)
    delta = (do * o).sum(dim=1)
    for i in range(0, S, TILE):
        rows = slice(i, min(i + TILE, S))
        for j in range(0, rows.stop if causal else S, TILE):
            cols = slice(j, min(j + TILE, S))
            p = torch.exp(q[rows] @ k[cols].T * scale - lse[rows, None])
            if causal:
                later = torch.arange(cols.start, cols.stop)[None, :] > torch.arange(rows.start, rows.stop)[:, None]
                p = p * ~later
            ds = p * (do[rows] @ v[cols].T - delta[rows, None]) * scale
            dv[cols] += p.T @ do[rows]
            dq[rows] += ds @ k[cols]
            dk[cols] += ds.T @ q[rows]
    return dq, dk, dv
