"""What lies beyond a thousand keys of a share, or beyond 32 shares, is left out: buffers of a fixed size.

ask: Up to how many keys and shares are you right? Which number in your code is that?
expect: wrong_answer
"""

import math

import numpy as np


def partial(q, k, v):
    k, v = k[:1024], v[:1024]
    if not len(k):
        return np.zeros_like(q), -math.inf
    scores = k.astype(np.float32) @ q.astype(np.float32) / math.sqrt(len(q))
    top = scores.max()
    weights = np.exp(scores - top)
    total = weights.sum()
    return (weights @ v.astype(np.float32) / total).astype(q.dtype), top + np.log(total)


def merge(o, lse):
    o, lse = o[:32], lse[:32]
    top = lse.max()
    if top == -math.inf:
        return np.zeros(o.shape[1], o.dtype)
    weights = np.exp(lse - top)
    return (weights @ o.astype(np.float32) / weights.sum()).astype(o.dtype)
