"""It names the faults in its own words.

ask: Which four names does the contract know, and how are they spelt?
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
    away = np.abs(np.arange(1024) - 512)
    return error(kernel, -away / 32, np.where(away < 128, 3.0, 1.0)) > 0.05


def diagnose(kernel):
    if narrow(kernel):
        return "low precision"
    if tail(kernel):
        return "phantom tail"
    if order(kernel):
        return "missing rescale"
    return "healthy"
