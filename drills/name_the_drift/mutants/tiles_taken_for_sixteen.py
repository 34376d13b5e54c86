"""Its whole number of tiles is one only for tiles of 16.

ask: Which lengths are whole numbers of tiles for every tile length that the statement allows?
expect: wrong_answer
"""

import numpy as np


def error(kernel, scores, values):
    scores, values = np.asarray(scores, dtype=np.float64), np.asarray(values, dtype=np.float64)
    weights = np.exp(scores - scores.max())
    seen = kernel(np.ones((1, 1)), scores[:, None], values[:, None])[0, 0]
    return abs(float(seen) - weights @ values / weights.sum())


def narrow(kernel):
    scores = np.full(2048, -20 * np.log(2))
    scores[[0, -1]] = 0.0
    return error(kernel, scores, np.where(scores < 0, -1.0, 1.0)) > 2e-4


def tail(kernel):
    return error(kernel, np.full(129, -8.0), np.ones(129)) > 0.01


def order(kernel):
    away = np.abs(np.arange(1008) - 504)
    return error(kernel, -away / 32, np.where(away < 128, 3.0, 1.0)) > 0.05


def diagnose(kernel):
    if order(kernel):
        return "missing_rescale"
    if tail(kernel):
        return "phantom_tail"
    if narrow(kernel):
        return "low_precision_state"
    return "healthy"
