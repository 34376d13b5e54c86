"""It guesses from the time that a call takes.

ask: What does the time of a call depend on, besides the fault?
expect: wrong_answer
"""

import time

import numpy as np


def diagnose(kernel):
    times = []
    for _ in range(12):
        started = time.perf_counter()
        kernel(np.ones((1, 1)), np.ones((2048, 1)), np.ones((2048, 1)))
        times.append(time.perf_counter() - started)
    # A rescale less is a product less, so a quick kernel must be the one without it.
    return "missing_rescale" if min(times) < 1.0 else "healthy"
