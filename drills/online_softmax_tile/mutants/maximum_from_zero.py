"""The first maximum counts as 0, so rows of negative scores keep 0.

ask: Which maximum do you report for a row whose scores are all negative?
expect: wrong_answer
"""

import numpy as np


def update(m, l, acc, scores, values):
    m_new = np.maximum(np.where(np.isneginf(m), np.float32(0), m), scores.max(axis=1))
    base = np.where(np.isneginf(m_new), np.float32(0), m_new)
    factor = np.exp(m - base)
    weights = np.exp(scores - base[:, None])
    l = l * factor + weights.sum(axis=1)
    acc = acc * factor[:, None] + weights @ values
    return m_new, l, acc


def finish(m, l, acc):
    seen = l > 0
    return np.where(seen[:, None], acc / np.where(seen, l, np.float32(1))[:, None], np.float32(0))
