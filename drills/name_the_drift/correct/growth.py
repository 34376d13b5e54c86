"""Errors against float64 at several numbers of tiles and in both orders; the decision is made from the table."""

import numpy as np

LENGTHS = (128, 512, 2048)


def error(kernel, scores, values):
    scores = np.asarray(scores, dtype=np.float64)
    weights = np.exp(scores - scores.max())
    exact = weights @ values / weights.sum()
    seen = kernel(np.array([[1.0]]), scores[:, None], np.asarray(values, dtype=np.float64)[:, None])
    return abs(float(seen[0, 0]) - exact)


def diagnose(kernel):
    table = {}
    # Weights that are powers of two, so that no rounding of a weight is taken for rounding of the state.
    for n in (1024, 2048):
        scores = np.full(n, -20 * np.log(2))
        scores[[0, -1]] = 0.0
        table["tiny", n] = error(kernel, scores, np.where(scores < 0, -1.0, 1.0))
    if table["tiny", 2048] > 4e-4 or table["tiny", 1024] > 4e-4:
        return "low_precision_state"
    for n in LENGTHS:
        ramp = np.linspace(-5, 5, n)
        values = np.where(np.arange(n) < n // 2, -1.0, 1.0)
        table["up", n] = error(kernel, ramp, values)
        table["down", n] = error(kernel, ramp[::-1], values)
    if max(table["up", 2048], table["down", 2048]) > 0.02:
        return "missing_rescale"
    table["past"] = error(kernel, np.full(513, -7.0), np.ones(513))
    if table["past"] > 0.01:
        return "phantom_tail"
    return "healthy"
