"""A scale for each key, which brings only the largest entry of a row through unharmed.

ask: With one large channel a scale for each token would do. What becomes of the second one?
expect: wrong_answer
"""

import numpy as np
from drill_kit import to_e4m3


def quantised(x):
    scale = np.abs(x).max() / 448
    return to_e4m3(x / scale) * scale


def attention_fp8(q, k, v):
    scores = quantised(q) @ (to_e4m3(k / (np.abs(k).max(axis=1, keepdims=True) / 448)) * (np.abs(k).max(axis=1, keepdims=True) / 448)).T / np.sqrt(q.shape[1])
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    out = to_e4m3(weights) @ quantised(v)
    return (out / weights.sum(axis=1, keepdims=True)).astype(q.dtype)
