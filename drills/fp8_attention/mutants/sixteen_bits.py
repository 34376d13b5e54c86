"""Operands are rounded to float16 instead.

ask: Your result is closer than eight bits can be. Which type did your operands have?
expect: wrong_answer
"""

import numpy as np
from drill_kit import to_e4m3


def quantised(x):
    scale = np.abs(x).max() / 448
    return x.astype(np.float16).astype(np.float32)


def attention_fp8(q, k, v):
    k = k - k.mean(axis=0)
    scores = quantised(q) @ quantised(k).T / np.sqrt(q.shape[1])
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    out = weights.astype(np.float16).astype(np.float32) @ quantised(v)
    return (out / weights.sum(axis=1, keepdims=True)).astype(q.dtype)
