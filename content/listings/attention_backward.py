"""The backward pass of attention in tiles, against float64 with full matrices: relative error of dQ, dK, dV.

N = 512 queries and keys, head dimension 64, causal, tiles of 128; standard normal inputs in fp32, keys
twice as large. Each other row leaves out or spoils one ingredient. The error is the largest absolute
difference over the largest expected entry; below 1e-05 it is rounding, and only that is said.
"""

import numpy as np

N, D, TILE = 512, 64, 128
SCALE = 1 / np.sqrt(D)
MASK = np.tril(np.ones((N, N), bool))


def bf16(x):
    fraction, exponent = np.frexp(x)
    return np.ldexp(np.rint(np.ldexp(fraction, 8)), exponent).astype(x.dtype) / 256


def forward(q, k, v):
    s = np.where(MASK, q @ k.T * SCALE, -np.inf)
    m = s.max(axis=1, keepdims=True)
    lse = m + np.log(np.exp(s - m).sum(axis=1, keepdims=True))
    return np.exp(s - lse) @ v, lse[:, 0]


def full(q, k, v, do):
    """Every matrix in full, float64."""
    q, k, v, do = (x.astype(np.float64) for x in (q, k, v, do))
    _, lse = forward(q, k, v)
    p = np.exp(np.where(MASK, q @ k.T * SCALE, -np.inf) - lse[:, None])
    dp = do @ v.T
    ds = p * (dp - (p * dp).sum(axis=1, keepdims=True)) * SCALE
    return ds @ k, ds.T @ q, p.T @ do


def tiled(q, k, v, do, o, lse, delta=True, scale=SCALE, mask=True):
    """dQ, dK, dV [N, D]; no matrix larger than a tile. Key tiles outside, so dK and dV stay and dQ is added to."""
    dq, dk, dv = np.zeros_like(q), np.zeros_like(k), np.zeros_like(v)
    row = (do * o).sum(axis=1) if delta else np.zeros(N, np.float32)
    for j in range(0, N, TILE):
        for i in range(j, N, TILE):  # causal: query tiles before the key tile see nothing of it
            a, b = slice(i, i + TILE), slice(j, j + TILE)
            s = q[a] @ k[b].T * np.float32(SCALE)
            p = np.exp(s - lse[a, None])
            if mask:
                p = np.where(MASK[a, b], p, 0)
            dp = do[a] @ v[b].T
            ds = p * (dp - row[a, None]) * np.float32(scale)
            dv[b] += p.T @ do[a]
            dk[b] += ds.T @ q[a]
            dq[a] += ds @ k[b]
    return dq, dk, dv


if __name__ == "__main__":
    rng = np.random.default_rng(4)
    q, k, v, do = (rng.standard_normal((4, N, D)) * [[[1]], [[2]], [[1]], [[1]]]).astype(np.float32)
    o, lse = (x.astype(np.float32) for x in forward(q, k, v))
    want = full(q, k, v, do)
    runs = {
        "tiles": tiled(q, k, v, do, o, lse),
        "D left out": tiled(q, k, v, do, o, lse, delta=False),
        "log-sum-exp in bf16": tiled(q, k, v, do, o, bf16(lse)),
        "output in bf16": tiled(q, k, v, do, bf16(o), lse),
        "scale forgotten in dS": tiled(q, k, v, do, o, lse, scale=1.0),
        "diagonal tile not masked": tiled(q, k, v, do, o, lse, mask=False),
    }
    print("run", "dQ", "dK", "dV", sep=",")
    for name, got in runs.items():
        errors = [np.abs(g - w).max() / np.abs(w).max() for g, w in zip(got, want, strict=True)]
        print(name, *["< 1e-05" if error < 1e-5 else f"{error:.0e}" for error in errors], sep=",")
