"""Three inputs, each of which only one kind of kernel gets wrong. One query of 1: the keys are the scores."""

import numpy as np


def call(kernel, scores, values):
    columns = (np.asarray(part, dtype=np.float32).reshape(-1, 1) for part in (scores, values))
    return float(kernel(np.ones((1, 1), np.float32), *columns)[0, 0])


def exact(scores, values):
    weights = np.exp(np.asarray(scores) - np.max(scores))
    return float(weights @ values / weights.sum())


def diagnose(kernel):
    # One key past every tile length, all scores alike and low: only lanes without a key can be heard.
    if abs(call(kernel, [-8.0] * 129, [1.0] * 129) - 1.0) > 0.01:
        return "phantom_tail"
    # Whole tiles; a hill, so that the maximum rises from whichever end the kernel begins.
    scores = 8.0 - np.abs(np.arange(1024) - 511.5) / 16
    values = np.where(scores > 0, 2.0, -2.0)
    if abs(call(kernel, scores, values) - exact(scores, values)) > 0.05:
        return "missing_rescale"
    # Whole tiles, the maximum at both ends, and many weights that vanish when a narrow sum takes them tile by tile.
    scores = np.full(2048, -20 * np.log(2))
    scores[[0, -1]] = 0.0
    values = np.where(scores < 0, -1.0, 1.0)
    if abs(call(kernel, scores, values) - exact(scores, values)) > 3e-4:
        return "low_precision_state"
    return "healthy"
