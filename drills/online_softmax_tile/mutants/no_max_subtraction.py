"""The maximum is kept, but the exponentials are taken of the scores themselves.

ask: It holds for scores near zero. What is exp of a score near 300, or near −400?
expect: wrong_answer
"""

import numpy as np


def update(m, l, acc, scores, values):
    m_new = np.maximum(m, scores.max(axis=1))
    base = np.where(np.isneginf(m_new), np.float32(0), m_new)
    factor = np.ones_like(m)
    weights = np.exp(scores)
    l = l * factor + weights.sum(axis=1)
    acc = acc * factor[:, None] + weights @ values
    return m_new, l, acc


def finish(m, l, acc):
    seen = l > 0
    return np.where(seen[:, None], acc / np.where(seen, l, np.float32(1))[:, None], np.float32(0))
