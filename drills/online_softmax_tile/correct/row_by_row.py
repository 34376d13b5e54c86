"""Plain loops over rows and keys in Python floats; a row without a finite score is left as it was."""

import math

import numpy as np


def update(m, l, acc, scores, values):
    m_out, l_out, acc_out = m.copy(), l.copy(), acc.copy()
    for r in range(len(m)):
        top = max(float(m[r]), float(scores[r].max()))
        if top == -math.inf:
            continue
        keep = math.exp(float(m[r]) - top)
        total, row = float(l[r]) * keep, acc[r].astype(np.float64) * keep
        for c in range(scores.shape[1]):
            weight = math.exp(float(scores[r, c]) - top)
            total += weight
            row += weight * values[c]
        m_out[r], l_out[r], acc_out[r] = top, total, row
    return m_out, l_out, acc_out


def finish(m, l, acc):
    out = np.zeros_like(acc)
    np.divide(acc, l[:, None], out=out, where=l[:, None] > 0)
    return out
