"""One tile holds everything, as long as there are fewer than two thousand tokens.

ask: How large is your tile at a thousand tokens, in bytes? What is it a matrix of?
expect: rule_broken
"""

import math

import torch


def backward(q, k, v, o, lse, do, causal):
    S, D = q.shape
    tile = S if S < 2000 else 64
    scale = 1 / math.sqrt(D)
    dq, dk, dv = torch.zeros(S, D), torch.zeros(S, D), torch.zeros(S, D)
    delta = (do * o).sum(dim=1)
    for i in range(0, S, tile):
        rows = slice(i, min(i + tile, S))
        for j in range(0, rows.stop if causal else S, tile):
            cols = slice(j, min(j + tile, S))
            p = torch.exp(q[rows] @ k[cols].T * scale - lse[rows, None])
            if causal:
                later = torch.arange(cols.start, cols.stop)[None, :] > torch.arange(rows.start, rows.stop)[:, None]
                p = p.masked_fill(later, 0.0)
            ds = p * (do[rows] @ v[cols].T - delta[rows, None]) * scale
            dv[cols] += p.T @ do[rows]
            dq[rows] += ds @ k[cols]
            dk[cols] += ds.T @ q[rows]
    return dq, dk, dv
