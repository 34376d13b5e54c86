"""An empty share has no maximum.

ask: What does your code do with a share that has no keys?
expect: runtime_error
"""

import math

import numpy as np


def partial(q, k, v):
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
    return (weights @ o.astype(np.float32) / weights.sum()).astype(o.dtype)
