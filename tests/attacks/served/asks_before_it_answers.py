"""A question and an answer at once, so that the question is counted for nobody.

expect: rule_broken
"""

import sys
import time

import numpy as np


def find(name):
    frame = sys._getframe()
    while frame is not None and name not in frame.f_locals:
        frame = frame.f_back
    return frame.f_locals[name]


def diagnose(kernel):
    channel, wire = find("channel"), sys.modules["grader.wire"]
    order = find("order")
    one = wire.from_numpy(np.ones((1, 1)))
    question = wire.frame(wire.Wanted(handle=0, args=[one, one, one]))
    answer = wire.frame(wire.Returned(id=order.id, value="healthy"))
    channel._socket.sendall(question + answer)
    time.sleep(1)
    return "healthy"
