"""One length, one kind of data; the size of the error decides.

ask: Three faults have errors of any size, depending on the data. Which two runs have to differ for one fault, and must not for the others?
expect: wrong_answer
"""

import numpy as np


def error(kernel, scores, values):
    scores, values = np.asarray(scores, dtype=np.float64), np.asarray(values, dtype=np.float64)
    weights = np.exp(scores - scores.max())
    seen = kernel(np.ones((1, 1)), scores[:, None], values[:, None])[0, 0]
    return abs(float(seen) - weights @ values / weights.sum())


def diagnose(kernel):
    rng = np.random.default_rng(0)
    found = error(kernel, 3 * rng.standard_normal(500), rng.standard_normal(500))
    if found > 0.05:
        return "missing_rescale"
    if found > 0.005:
        return "phantom_tail"
    if found > 1e-4:
        return "low_precision_state"
    return "healthy"
