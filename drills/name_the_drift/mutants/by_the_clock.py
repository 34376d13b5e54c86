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
    names = ("healthy", "missing_rescale", "low_precision_state", "phantom_tail")
    return names[int(min(times) * 1e5) % 4]
