"""An alarm throws the learner out of a call while the judge works on it. Odd, and honest.

expect: accepted
"""

import signal
import time

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


class Enough(Exception):
    pass


def ring(number, frame):
    raise Enough


def diagnose(kernel):
    signal.signal(signal.SIGALRM, ring)
    big = np.ones((1, 1)), np.ones((2048, 1)), np.ones((2048, 1))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.002)
        kernel(*big)
        time.sleep(5)  # the judge was quicker than the alarm, which rings here
    except Enough:
        pass
    return honest(kernel)
