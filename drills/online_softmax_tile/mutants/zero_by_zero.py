"""finish divides by the sum everywhere, also where no key was seen.

ask: What is the sum of a row that saw no key, and what do you divide by it?
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
    return m_new, l, acc


def finish(m, l, acc):
    seen = l > 0
    return acc / l[:, None]
