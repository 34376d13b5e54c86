"""Values that are one-hot in the group of their key: the result is the weight that the kernel gave to each group.

The last column is 1 for all keys: what it gives is numerator over denominator of the same sum.
"""

import numpy as np

GROUPS = 64


def groups(kernel, scores):
    """Weight of each of 63 groups of neighbouring keys, then of all: as the kernel sees it, and as it is."""
    scores = np.asarray(scores, dtype=np.float64)
    members = np.eye(GROUPS)[np.arange(len(scores)) * (GROUPS - 1) // len(scores)]
    members[:, -1] = 1.0
    q = np.zeros((1, GROUPS))
    q[0, 0] = np.sqrt(GROUPS)
    k = np.zeros((len(scores), GROUPS))
    k[:, 0] = scores
    weights = np.exp(scores - scores.max())
    return kernel(q, k, members)[0], weights @ members / weights.sum()


def diagnose(kernel):
    # Scores that fall and scores that rise: one of them is in the order in which the maximum never changes.
    for scores in (np.linspace(-6, 6, 2048), np.linspace(6, -6, 2048)):
        seen, exact = groups(kernel, scores)
        if not np.allclose(seen, exact, rtol=0.05, atol=1e-3):
            return "missing_rescale"
    # A tail: all weights of the keys together are less than one.
    seen, _ = groups(kernel, np.full(1025, -6.0))
    if seen[-1] < 0.99:
        return "phantom_tail"
    # Two keys that stand out, at the ends; in a narrow type the others add nothing to the sum, or stay behind.
    scores = np.full(2048, -20 * np.log(2))
    scores[[0, -1]] = 0.0
    seen, exact = groups(kernel, scores)
    ends = seen[0] + seen[-2] - exact[0] - exact[-2]
    if abs(ends) > 2e-4 or abs(seen[-1] - 1.0) > 2e-4:
        return "low_precision_state"
    return "healthy"
