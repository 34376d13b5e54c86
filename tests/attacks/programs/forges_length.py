"""Announces a message of four gigabytes.

expect: malformed
"""

import os
import time


def run(x):
    for descriptor in range(3, 256):
        try:
            os.write(descriptor, b"\xff\xff\xff\xff")
        except OSError:
            pass
    time.sleep(1000)
