"""Hidden scores are replaced by −10,000, taken to be low enough.

ask: Hidden keys get weight in rows whose visible scores are very low. How low is your “low enough”?
expect: wrong_answer
"""

import numpy as np


def update(m, l, acc, scores, values):
    scores = np.where(np.isneginf(scores), np.float32(-1e4), scores)
    m_new = np.maximum(m, scores.max(axis=1))
    base = np.where(np.isneginf(m_new), np.float32(0), m_new)
    factor = np.exp(m - base)
    weights = np.exp(scores - base[:, None])
    l = l * factor + weights.sum(axis=1)
    acc = acc * factor[:, None] + weights @ values
    return m_new, l, acc


def finish(m, l, acc):
    seen = l > 0
    return np.where(seen[:, None], acc / np.where(seen, l, np.float32(1))[:, None], np.float32(0))
