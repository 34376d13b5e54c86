"""The output is divided by the sum after every tile, and the next one adds to the quotient.

ask: Is acc, between tiles, a sum or an average? What does the contract say?
expect: wrong_answer
"""

import numpy as np


def update(m, l, acc, scores, values):
    m_new = np.maximum(m, scores.max(axis=1))
    base = np.where(np.isneginf(m_new), np.float32(0), m_new)
    factor = np.exp(m - base)
    weights = np.exp(scores - base[:, None])
    l = l * factor + weights.sum(axis=1)
    acc = acc * factor[:, None] + weights @ values
    return m_new, l, np.where(l[:, None] > 0, acc / np.maximum(l, np.float32(1e-30))[:, None], acc)


def finish(m, l, acc):
    seen = l > 0
    return np.where(seen[:, None], acc / np.where(seen, l, np.float32(1))[:, None], np.float32(0))
