"""The scores are divided by the root of the number of keys.

ask: One share is right when it has as many keys as dimensions. Which length is under your root?
expect: wrong_answer
"""

import math

import numpy as np


def partial(q, k, v):
    if len(k) == 0:
        return np.zeros_like(q), -math.inf
    scores = k.astype(np.float32) @ q.astype(np.float32) * np.float32(1 / math.sqrt(len(k)))
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
    return (weights @ o.astype(np.float32) / weights.sum()).astype(o.dtype)
