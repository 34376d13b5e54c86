"""One key is subtracted from all, then q and k are rotated by the same orthogonal matrix; the output in tiles."""

import numpy as np
from drill_kit import next_power_of_2, to_e4m3


def hadamard(n):
    h = np.ones((1, 1))
    while len(h) < n:
        h = np.block([[h, h], [h, -h]])
    return h / np.sqrt(n)


def attention_fp8(q, k, v):
    n, d = q.shape
    turn = hadamard(next_power_of_2(d))[:d]
    q8 = to_e4m3(q @ turn)
    k8 = to_e4m3((k - np.median(k, axis=0)) @ turn)
    out = np.empty((n, d), dtype=q.dtype)
    for start in range(0, n, 32):
        scores = q8[start : start + 32] @ k8.T / d**0.5
        weights = np.exp(scores - scores.max(axis=1, keepdims=True))
        values = to_e4m3(weights * 128) @ to_e4m3(v * 16)
        out[start : start + 32] = values / (weights.sum(axis=1, keepdims=True) * 128 * 16)
    return out
