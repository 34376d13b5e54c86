"""Kills every process it can see, itself last.

expect: died | malformed
"""

import os
import signal


def run(x):
    for target in (-1, 1, 2, os.getpid()):
        try:
            os.kill(target, signal.SIGKILL)
        except OSError:
            pass
