"""The scale of v is not taken out of the output.

ask: By what did you multiply v before rounding, and where do you divide by it?
expect: wrong_answer
"""

import numpy as np
from drill_kit import to_e4m3


def quantised(x):
    scale = np.abs(x).max() / 448
    return to_e4m3(x / scale) * scale


def attention_fp8(q, k, v):
    k = k - k.mean(axis=0)
    scores = quantised(q) @ quantised(k).T / np.sqrt(q.shape[1])
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    out = to_e4m3(weights) @ to_e4m3(v / (np.abs(v).max() / 448))
    return (out / weights.sum(axis=1, keepdims=True)).astype(q.dtype)
