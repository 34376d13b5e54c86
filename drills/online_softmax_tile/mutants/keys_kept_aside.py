"""All keys are kept in a list beside the state, and every step starts over: two sequences at once are mixed up.

ask: What goes from one call to the next besides the state? Whose keys are they when two sequences take turns?
expect: wrong_answer
"""

import numpy as np

seen = []


def update(m, l, acc, scores, values):
    if np.isneginf(m).all() and not acc.any():
        seen.clear()
    seen.append((scores.copy(), values.copy()))
    scores = np.concatenate([tile for tile, _ in seen], axis=1)
    values = np.concatenate([tile for _, tile in seen])
    m_new = scores.max(axis=1)
    weights = np.exp(scores - np.where(np.isneginf(m_new), np.float32(0), m_new)[:, None])
    return m_new, weights.sum(axis=1), weights @ values


def finish(m, l, acc):
    seen_any = l > 0
    return np.where(seen_any[:, None], acc / np.where(seen_any, l, np.float32(1))[:, None], np.float32(0))
