"""Base two throughout, as kernels do it; the state is written in place, and the division is a reciprocal."""

import numpy as np

LOG2E = np.float32(1.4426950408889634)


def update(m, l, acc, scores, values):
    m_new = np.maximum(m, scores.max(axis=1))
    base = np.where(m_new > -np.inf, m_new, np.float32(0)) * LOG2E
    factor = np.exp2(m * LOG2E - base)
    weights = np.exp2(scores * LOG2E - base[:, None])
    l *= factor
    l += weights.sum(axis=1)
    acc *= factor[:, None]
    acc += np.dot(weights, values)
    m[:] = m_new
    return m, l, acc


def finish(m, l, acc):
    with np.errstate(divide="ignore"):
        scale = np.where(l > 0, np.float32(1) / l, np.float32(0))
    return acc * scale[:, None]
