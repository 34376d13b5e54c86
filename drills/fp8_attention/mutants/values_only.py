"""Only the values are rounded; queries, keys and weights stay as they are.

ask: Which of the four operands of your two products went through to_e4m3, and which did not?
expect: wrong_answer
"""

import numpy as np
from drill_kit import to_e4m3


def attention_fp8(q, k, v):
    scores = q @ k.T / np.sqrt(q.shape[1])
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    scale = np.abs(v).max() / 448
    out = weights @ (to_e4m3(v / scale) * scale)
    return (out / weights.sum(axis=1, keepdims=True)).astype(q.dtype)
