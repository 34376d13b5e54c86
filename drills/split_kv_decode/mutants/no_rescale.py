"""A share goes by in tiles, and what was added up is not brought to the new maximum.

ask: One tile is right. Relative to which maximum is the sum that the second tile adds to?
expect: wrong_answer
"""

import math

import numpy as np


def partial(q, k, v):
    if len(k) == 0:
        return np.zeros_like(q), -math.inf
    scores = k.astype(np.float32) @ q.astype(np.float32) * np.float32(1 / math.sqrt(len(q)))
    top = scores.max()
    running = np.maximum.accumulate(np.pad(scores, (0, -len(scores) % 16), constant_values=-np.inf).reshape(-1, 16).max(axis=1))
    weights = np.exp(scores - np.repeat(running, 16)[: len(scores)])
    total = weights.sum()
    out = weights @ v.astype(np.float32) / total
    return out.astype(q.dtype), top + np.log(total)


def merge(o, lse):
    top = lse.max()
    if top == -math.inf:
        return np.zeros_like(o[0])
    weights = np.exp(lse - top)
    return (weights @ o.astype(np.float32) / weights.sum()).astype(o.dtype)
