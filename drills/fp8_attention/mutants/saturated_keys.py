"""Keys are multiplied by 16 without regard to their size: what is beyond 448 is cut off.

ask: How large are your keys when they reach to_e4m3, and what is the largest value it has?
expect: wrong_answer
"""

import numpy as np
from drill_kit import to_e4m3


def quantised(x):
    scale = np.abs(x).max() / 448
    return to_e4m3(x / scale) * scale


def attention_fp8(q, k, v):
    scores = quantised(q) @ (to_e4m3(k * 16) / 16).T / np.sqrt(q.shape[1])
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    out = to_e4m3(weights) @ quantised(v)
    return (out / weights.sum(axis=1, keepdims=True)).astype(q.dtype)
