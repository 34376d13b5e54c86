"""The maximum of the tile replaces the running one instead of being combined with it.

ask: It is right while the maximum rises. What do you keep when the next tile is lower?
expect: wrong_answer
"""

import numpy as np


def update(m, l, acc, scores, values):
    m_new = scores.max(axis=1)
    base = np.where(np.isneginf(m_new), np.float32(0), m_new)
    factor = np.minimum(np.exp(m - base), np.float32(3e38))
    weights = np.exp(scores - base[:, None])
    l = l * factor + weights.sum(axis=1)
    acc = acc * factor[:, None] + weights @ values
    return m_new, l, acc


def finish(m, l, acc):
    seen = l > 0
    return np.where(seen[:, None], acc / np.where(seen, l, np.float32(1))[:, None], np.float32(0))
