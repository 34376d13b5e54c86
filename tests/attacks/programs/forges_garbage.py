"""Writes noise to every descriptor it has.

expect: malformed
"""

import os
import time


def run(x):
    for descriptor in range(3, 256):
        try:
            os.write(descriptor, b"\x00\x00\x00\x05hello")
        except OSError:
            pass
    time.sleep(1000)
