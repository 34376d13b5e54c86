"""A row that sees no key of a tile loses what it had: its rescale is taken to be 0.

ask: A row has seen keys, and then a tile hides all of its own. What must its sum and accumulator be afterwards?
expect: wrong_answer
"""

import numpy as np


def update(m, l, acc, scores, values):
    highest = scores.max(axis=1)
    m_new = np.maximum(m, highest)
    base = np.where(np.isneginf(m_new), np.float32(0), m_new)
    factor = np.where(np.isneginf(highest), np.float32(0), np.exp(m - base))
    weights = np.exp(scores - base[:, None])
    return m_new, l * factor + weights.sum(axis=1), acc * factor[:, None] + weights @ values


def finish(m, l, acc):
    seen = l > 0
    return np.where(seen[:, None], acc / np.where(seen, l, np.float32(1))[:, None], np.float32(0))
