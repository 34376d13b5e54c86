"""Ignores every signal that can be ignored, in itself and in a child.

expect: time_limit
"""

import os
import signal
import time


def run(x):
    for number in range(1, 65):
        try:
            signal.signal(number, signal.SIG_IGN)
        except (OSError, ValueError):
            pass
    os.fork()
    while True:
        time.sleep(1)
