"""The factor is exp(m_new − m_old): it grows where it should shrink.

ask: When the maximum rises, should what you have grow or shrink relative to it?
expect: wrong_answer
"""

import numpy as np


def update(m, l, acc, scores, values):
    m_new = np.maximum(m, scores.max(axis=1))
    base = np.where(np.isneginf(m_new), np.float32(0), m_new)
    factor = np.where(np.isneginf(m), np.float32(0), np.exp(base - m))
    weights = np.exp(scores - base[:, None])
    l = l * factor + weights.sum(axis=1)
    acc = acc * factor[:, None] + weights @ values
    return m_new, l, acc


def finish(m, l, acc):
    seen = l > 0
    return np.where(seen[:, None], acc / np.where(seen, l, np.float32(1))[:, None], np.float32(0))
