"""Kills every process it can see, itself last.

expect: died | malformed | raised
"""

import os
import signal


def run(x):
    os.kill(-1, signal.SIGKILL)
    os.kill(1, signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGKILL)
