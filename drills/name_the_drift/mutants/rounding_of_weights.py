"""Any error beyond float32 is taken for a narrow state.

ask: A weight that is rounded errs once, a state is rounded at every tile. Which data make the first error vanish?
expect: wrong_answer
"""

import numpy as np


def error(kernel, scores, values):
    scores, values = np.asarray(scores, dtype=np.float64), np.asarray(values, dtype=np.float64)
    weights = np.exp(scores - scores.max())
    seen = kernel(np.ones((1, 1)), scores[:, None], values[:, None])[0, 0]
    return abs(float(seen) - weights @ values / weights.sum())


def tail(kernel):
    return error(kernel, np.full(129, -8.0), np.ones(129)) > 0.01


def order(kernel):
    away = np.abs(np.arange(1024) - 512)
    return error(kernel, -away / 32, np.where(away < 128, 3.0, 1.0)) > 0.05


def narrow(kernel):
    rng = np.random.default_rng(1)
    return error(kernel, rng.standard_normal(1024), rng.standard_normal(1024)) > 2e-6


def diagnose(kernel):
    if tail(kernel):
        return "phantom_tail"
    if order(kernel):
        return "missing_rescale"
    if narrow(kernel):
        return "low_precision_state"
    return "healthy"
