"""Spreads over children what one process may not have.

expect: out_of_memory | time_limit
"""

import os
import time


def run(x):
    for _ in range(20):
        if os.fork() == 0:
            kept = b"\xff" * (150 << 20)
            time.sleep(1000)
            os._exit(len(kept) & 1)
    time.sleep(1000)
