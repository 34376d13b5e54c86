"""It repeats a call whose answer cannot change.

ask: The kernel gives the same result for the same inputs. Which of your calls did you make twice?
expect: rule_broken
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
    found = [test(kernel) for test in (narrow, tail, order) for _ in range(5)]
    for name, seen in zip(("low_precision_state", "phantom_tail", "missing_rescale"), found[::5]):
        if seen:
            return name
    return "healthy"
