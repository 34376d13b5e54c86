"""Leaves a process behind that belongs to nobody, in a session of its own.

expect: returned
"""

import os
import time


def run(x):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            while True:
                time.sleep(1)
        os._exit(0)
    return []
