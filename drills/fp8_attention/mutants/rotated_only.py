"""q and k are rotated, which spreads the offset and does not reduce it.

ask: The rotation keeps all scores. Does it make the keys any shorter?
expect: wrong_answer
"""

import numpy as np
from drill_kit import to_e4m3


def quantised(x):
    scale = np.abs(x).max() / 448
    return to_e4m3(x / scale) * scale


def attention_fp8(q, k, v):
    turn = np.linalg.qr(np.random.default_rng(0).standard_normal((q.shape[1],) * 2))[0].astype(np.float32)
    q, k = q @ turn, k @ turn
    scores = quantised(q) @ quantised(k).T / np.sqrt(q.shape[1])
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    out = to_e4m3(weights) @ quantised(v)
    return (out / weights.sum(axis=1, keepdims=True)).astype(q.dtype)
