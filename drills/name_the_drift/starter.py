"""Name the fault of an attention kernel that you can call but not read.

kernel(q, k, v) takes q [Sq, D], k [Sk, D] and v [Sk, D] and returns o [Sq, D], float32, for no more than 12 calls.
"""

import numpy as np


def exact(q, k, v):
    """What a healthy kernel computes, in float64."""
    scores = q @ k.T / np.sqrt(q.shape[1])
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return weights @ v / weights.sum(axis=1, keepdims=True)


def error(kernel, q, k, v):
    """One call of the kernel: its largest error."""
    return np.abs(kernel(q, k, v) - exact(q, k, v)).max()


def diagnose(kernel):
    rng = np.random.default_rng(0)
    q, k, v = (rng.standard_normal((length, 16)) for length in (4, 500, 500))
    if error(kernel, q, k, v) > 1e-3:
        return "missing_rescale"
    return "healthy"
