"""The mean of the values is subtracted too, and not added again.

ask: Softmax does not see a common part of the keys. Does the output see one of the values?
expect: wrong_answer
"""

import numpy as np
from drill_kit import to_e4m3


def quantised(x):
    scale = np.abs(x).max() / 448
    return to_e4m3(x / scale) * scale


def attention_fp8(q, k, v):
    k = k - k.mean(axis=0)
    v = v - v.mean(axis=0) + v.max(axis=0) * np.float32(0.25)
    scores = quantised(q) @ quantised(k).T / np.sqrt(q.shape[1])
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    out = to_e4m3(weights) @ quantised(v)
    return (out / weights.sum(axis=1, keepdims=True)).astype(q.dtype)
