"""All values are 1, so numerator and denominator err alike.

ask: If the sum and the accumulator miss the same factor, what happens to their quotient when all values are equal?
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
    up = np.linspace(-8, 8, 1024)
    return max(error(kernel, up, np.ones(1024)), error(kernel, up[::-1], np.ones(1024))) > 0.01


def diagnose(kernel):
    if narrow(kernel):
        return "low_precision_state"
    if tail(kernel):
        return "phantom_tail"
    if order(kernel):
        return "missing_rescale"
    return "healthy"
