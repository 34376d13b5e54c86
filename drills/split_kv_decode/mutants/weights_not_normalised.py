"""The merge does not divide by the sum of the weights.

ask: What do your weights add up to?
expect: wrong_answer
"""

import math

import numpy as np


def partial(q, k, v):
    if len(k) == 0:
        return np.zeros_like(q), -math.inf
    scores = k.astype(np.float32) @ q.astype(np.float32) * np.float32(1 / math.sqrt(len(q)))
    top = scores.max()
    weights = np.exp(scores - top)
    total = weights.sum()
    out = weights @ v.astype(np.float32) / total
    return out.astype(q.dtype), top + np.log(total)


def merge(o, lse):
    top = lse.max()
    if top == -math.inf:
        return np.zeros_like(o[0])
    weights = np.exp(lse - top)
    return (weights @ o.astype(np.float32)).astype(o.dtype)
