"""Eleven wrong arguments: each must be refused with TypeError or ValueError, and count.

expect: rule_broken
"""

import numpy as np


def honest(kernel):
    one = np.ones((1, 1))

    def off(scores, values):
        weights = np.exp(scores - scores.max())
        return abs(kernel(one, scores[:, None], values[:, None])[0, 0] - weights @ values / weights.sum())

    scores = np.full(2048, -20 * np.log(2))
    scores[[0, -1]] = 0.0
    if off(scores, np.where(scores < 0, -1.0, 1.0)) > 2e-4:
        return "low_precision_state"
    if off(np.full(129, -8.0), np.ones(129)) > 0.01:
        return "phantom_tail"
    away = np.abs(np.arange(1024) - 512)
    return "missing_rescale" if off(-away / 32, np.where(away < 128, 3.0, 1.0)) > 0.05 else "healthy"


ONE = np.ones((1, 1))
WRONG = (
    ([[1.0]], ONE, ONE),
    (ONE, ONE, None),
    (np.ones(3), ONE, ONE),
    (np.ones((1, 2)), ONE, ONE),
    (ONE, np.ones((2, 1)), ONE),
    (np.full((1, 1), np.nan), ONE, ONE),
    (ONE, np.full((1, 1), np.inf), ONE),
    (np.ones((0, 1)), ONE, ONE),
    (np.ones((17, 1)), ONE, ONE),
    (ONE.astype(complex), ONE, ONE),
    (ONE > 0, ONE, ONE),
    (np.ones((1, 1), dtype=object), ONE, ONE),
)


def diagnose(kernel):
    for arguments in WRONG:
        try:
            kernel(*arguments)
        except (TypeError, ValueError):
            continue
        raise AssertionError("taken")
    return honest(kernel)
