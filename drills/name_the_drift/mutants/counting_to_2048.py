"""Equal scores: it waits for a count that stalls, and multiples of a tile are exact in a narrow type.

ask: What is added to the sum in one tile when all scores are equal, and does a narrow type hold it exactly?
expect: wrong_answer
"""

import numpy as np


def error(kernel, scores, values):
    scores, values = np.asarray(scores, dtype=np.float64), np.asarray(values, dtype=np.float64)
    weights = np.exp(scores - scores.max())
    seen = kernel(np.ones((1, 1)), scores[:, None], values[:, None])[0, 0]
    return abs(float(seen) - weights @ values / weights.sum())


def narrow(kernel):
    return error(kernel, np.zeros(2048), np.ones(2048)) > 1e-4


def tail(kernel):
    return error(kernel, np.full(129, -8.0), np.ones(129)) > 0.01


def order(kernel):
    away = np.abs(np.arange(1024) - 512)
    return error(kernel, -away / 32, np.where(away < 128, 3.0, 1.0)) > 0.05


def diagnose(kernel):
    if narrow(kernel):
        return "low_precision_state"
    if tail(kernel):
        return "phantom_tail"
    if order(kernel):
        return "missing_rescale"
    return "healthy"
