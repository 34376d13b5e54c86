"""One query over 4,096 keys, split and merged: relative error of the right merge and of five wrong ones.

16 queries, head dimension 64. Scores rise along the keys, so that the splits deserve different weights. Splits are
equally long; `16, last 4 empty` has 12 splits with keys and four without. Computed in float32 against a float64
softmax over all keys. The error is the largest absolute difference over the largest expected value; below 5e-06 it
is rounding, and only that is said.
"""

from itertools import pairwise

import numpy as np

QUERIES, KEYS, WIDTH = 16, 4096, 64


def partial(s, v):
    """Scores [Q, n] and values [n, D] of a split: its output [Q, D] and log-sum-exp [Q]. No keys: zeros, −∞."""
    if s.shape[1] == 0:
        return np.zeros((len(s), WIDTH), np.float32), np.full(len(s), -np.inf, np.float32)
    m = s.max(axis=1)
    p = np.exp(s - m[:, None])
    total = p.sum(axis=1)
    return p @ v / total[:, None], m + np.log(total)


def weights(lse):
    """Weights of the splits from lse [n, Q]; a row whose splits are all empty gets zeros."""
    top = lse.max(axis=0)
    w = np.exp(lse - np.where(np.isneginf(top), 0, top))
    return w / np.maximum(w.sum(axis=0), np.float32(1e-30))


def unguarded(lse):
    """As `weights`, merged two by two from the back, without a guard for −∞ − −∞."""
    w = np.zeros_like(lse)
    total = np.full(lse.shape[1], -np.inf, np.float32)
    for i in reversed(range(len(lse))):
        top = np.maximum(total, lse[i])
        new = top + np.log(np.exp(total - top) + np.exp(lse[i] - top))
        w = w * np.exp(total - new)
        w[i] = np.exp(lse[i] - new)
        total = new
    return w


MERGES = {
    "by log-sum-exp": lambda o, lse: (o, weights(lse)),
    "partials in fp16": lambda o, lse: (o.astype(np.float16).astype(np.float32), weights(lse)),
    "plain mean": lambda o, lse: (o, np.full_like(lse, 1 / len(lse))),
    "base 2 read as base e": lambda o, lse: (o, weights(lse / np.float32(np.log(2)))),
    "empty split has lse 0": lambda o, lse: (o, weights(np.where(np.isneginf(lse), np.float32(0), lse))),
    "no guard": lambda o, lse: (o, unguarded(lse)),
}
SPLITS = {"1": (1, 0), "2": (2, 0), "16": (16, 0), "64": (64, 0), "16, last 4 empty": (12, 4)}

if __name__ == "__main__":
    np.seterr(invalid="ignore")
    rng = np.random.default_rng(3)
    scores = (rng.standard_normal((QUERIES, KEYS)) + np.linspace(-8, -4, KEYS)).astype(np.float32)
    values = rng.random((KEYS, WIDTH), np.float32) + np.linspace(0, 1, KEYS, dtype=np.float32)[:, None]
    p = np.exp(scores.astype(np.float64))
    want = p @ values.astype(np.float64) / p.sum(axis=1)[:, None]
    print("splits", *MERGES, sep=",")
    for name, (full, empty) in SPLITS.items():
        bounds = [round(i * KEYS / full) for i in range(full + 1)] + [KEYS] * empty
        parts = [partial(scores[:, a:b], values[a:b]) for a, b in pairwise(bounds)]
        o, lse = (np.stack(each) for each in zip(*parts, strict=True))
        shown = []
        for merge in MERGES.values():
            outputs, w = merge(o, lse)
            error = np.abs((outputs * w[:, :, None]).sum(axis=0) - want).max() / want.max()
            shown.append("NaN" if np.isnan(error) else "< 5e-06" if error < 5e-6 else f"{float(f'{error:.1g}'):g}")
        print(f'"{name}"', *shown, sep=",")
