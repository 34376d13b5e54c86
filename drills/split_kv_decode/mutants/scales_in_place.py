"""The outputs are multiplied by their weights in place.

ask: Which of your statements write to an argument?
expect: rule_broken
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
    o[:, :] = o * weights[:, None]
    return (o.astype(np.float32).sum(axis=0) / weights.sum()).astype(o.dtype)
