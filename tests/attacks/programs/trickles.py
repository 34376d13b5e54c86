"""Sends one byte at a time, so that no read ever finds nothing.

expect: time_limit
"""

import os
import time


def run(x):
    channel = next(fd for fd in range(3, 256) if os.path.exists(f"/proc/self/fd/{fd}") and _socket(fd))
    os.write(channel, b"\x00\x10\x00\x00")
    while True:
        os.write(channel, b"a")
        time.sleep(0.01)


def _socket(fd):
    return os.readlink(f"/proc/self/fd/{fd}").startswith("socket")
