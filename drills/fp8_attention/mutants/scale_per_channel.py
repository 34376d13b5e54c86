"""A scale for each channel of K, multiplied into q.

ask: You gave every channel of K a scale of its own, and the error did not move. What does a scale change in a floating type?
expect: wrong_answer
"""

import numpy as np
from drill_kit import to_e4m3


def quantised(x):
    scale = np.abs(x).max() / 448
    return to_e4m3(x / scale) * scale


def attention_fp8(q, k, v):
    channel = np.abs(k).max(axis=0)
    q, k = q * channel, k / channel
    scores = quantised(q) @ quantised(k).T / np.sqrt(q.shape[1])
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    out = to_e4m3(weights) @ quantised(v)
    return (out / weights.sum(axis=1, keepdims=True)).astype(v.dtype)
