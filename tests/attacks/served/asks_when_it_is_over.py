"""A thread that goes on asking on the wire after the answer.

expect: rule_broken | runtime_error | wrong_answer
"""

import sys
import threading
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


def find(name):
    frame = sys._getframe()
    while frame is not None and name not in frame.f_locals:
        frame = frame.f_back
    return frame.f_locals[name]


def diagnose(kernel):
    channel, wire = find("channel"), sys.modules["grader.wire"]
    one = wire.from_numpy(np.ones((1, 1)))
    frame = wire.frame(wire.Wanted(handle=0, args=[one, one, one]))

    def ask():
        time.sleep(0.05)
        channel._socket.sendall(frame)

    threading.Thread(target=ask, daemon=True).start()
    answer = honest(kernel)
    time.sleep(0.0 if answer != "healthy" else 0.03)
    return answer
