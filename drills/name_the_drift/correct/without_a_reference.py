"""Attention does not care how its keys are ordered, or what is added to all scores: whoever does is not healthy.

No reference is computed. A last call looks for sums that stop growing.
"""

import numpy as np


def diagnose(kernel):
    rng = np.random.default_rng(7)
    q, k, v = rng.standard_normal((4, 8)), rng.standard_normal((256, 8)), rng.standard_normal((256, 8))
    k[:, 0], q[:, 0] = 0.0, np.sqrt(8)
    v += 2.0

    # Add −9 to every score, at a length that is no whole number of tiles: softmax does not see it.
    low = k[:201].copy()
    low[:, 0] = -9.0
    before, after = kernel(q, k[:201], v[:201]), kernel(q, low, v[:201])
    if np.abs(after - before).max() > 0.05:
        return "phantom_tail"

    # The same keys in three orders: the largest scores first, in the middle, last.
    k[:, 0] = np.linspace(-7, 7, 256)
    hill = np.concatenate([np.arange(0, 256, 2), np.arange(255, 0, -2)])
    results = [kernel(q, k[order], v[order]) for order in (np.arange(256), np.arange(256)[::-1], hill)]
    if max(np.abs(one - results[0]).max() for one in results) > 0.05:
        return "missing_rescale"

    # A key that outweighs the others 2¹⁷ times, then 1, 1023 and 2046 of the others: each must leave its trace.
    def mean(others):
        scores = np.zeros((others + 2, 1))
        scores[1:-1] = -17 * np.log(2)
        values = np.where(scores < 0, 9.0, 1.0)
        return kernel(np.ones((1, 1)), scores, values)[0, 0]

    def doubled(others):
        scores = np.zeros((others + 2, 1))
        scores[1:-1] = -20 * np.log(2)
        values = np.where(scores < 0, -1.0, 1.0)
        return kernel(np.ones((1, 1)), scores, values)[0, 0]

    few, some, many = mean(126), doubled(1022), doubled(2046)
    expected = [(2 - n * 2.0**-20) / (2 + n * 2.0**-20) for n in (1022, 2046)]
    traces = abs(some - expected[0]) + abs(many - expected[1])
    return "low_precision_state" if traces > 3e-4 or few < 1.0 else "healthy"
