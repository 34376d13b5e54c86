"""A question about a function that was not offered.

expect: rule_broken
"""

import sys

import numpy as np


def find(name):
    frame = sys._getframe()
    while frame is not None and name not in frame.f_locals:
        frame = frame.f_back
    return frame.f_locals[name]


def ask(channel, question):
    channel.send(question)
    return channel.receive()


def diagnose(kernel):
    channel, wire = find("channel"), sys.modules["grader.wire"]
    one = wire.from_numpy(np.ones((1, 1)))
    ask(channel, wire.Wanted(handle=7, args=[one, one, one]))
    return "healthy"
