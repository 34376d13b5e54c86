"""The exponentials are written over the scores.

ask: Which of your statements write into an argument, and is that argument yours?
expect: rule_broken
"""

import numpy as np


def update(m, l, acc, scores, values):
    m_new = np.maximum(m, scores.max(axis=1))
    base = np.where(np.isneginf(m_new), np.float32(0), m_new)
    factor = np.exp(m - base)
    weights = np.exp(np.subtract(scores, base[:, None], out=scores), out=scores)
    l = l * factor + weights.sum(axis=1)
    acc = acc * factor[:, None] + weights @ values
    return m_new, l, acc


def finish(m, l, acc):
    seen = l > 0
    return np.where(seen[:, None], acc / np.where(seen, l, np.float32(1))[:, None], np.float32(0))
