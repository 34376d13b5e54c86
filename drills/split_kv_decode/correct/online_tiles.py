"""A share goes by in tiles of eight with online softmax; shares are merged one after another in float64."""

import numpy as np


def partial(q, k, v):
    m, total, acc = -np.inf, 0.0, np.zeros(len(q))
    for start in range(0, len(k), 8):
        scores = k[start : start + 8].astype(np.float64) @ q.astype(np.float64) / len(q) ** 0.5
        new = max(m, scores.max())
        weights = np.exp(scores - new)
        keep = np.exp(m - new)
        total = total * keep + weights.sum()
        acc = acc * keep + weights @ v[start : start + 8].astype(np.float64)
        m = new
    if total == 0:
        return np.zeros_like(q), float("-inf")
    return (acc / total).astype(q.dtype), float(m + np.log(total))


def merge(o, lse):
    out, so_far = np.zeros(o.shape[1]), -np.inf
    for i in np.flatnonzero(np.isfinite(lse)):
        together = np.logaddexp(so_far, float(lse[i]))
        out = out * np.exp(so_far - together) + o[i] * np.exp(float(lse[i]) - together)
        so_far = together
    return out.astype(o.dtype)
