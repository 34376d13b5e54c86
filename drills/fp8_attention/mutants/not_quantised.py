"""Nothing goes through to_e4m3.

ask: Your result is closer than eight bits can be. Which operands went through to_e4m3?
expect: wrong_answer
"""

import numpy as np
from drill_kit import to_e4m3


def quantised(x):
    scale = np.abs(x).max() / 448
    return x


def attention_fp8(q, k, v):
    k = k - k.mean(axis=0)
    scores = quantised(q) @ quantised(k).T / np.sqrt(q.shape[1])
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    out = weights @ quantised(v)
    return (out / weights.sum(axis=1, keepdims=True)).astype(q.dtype)
