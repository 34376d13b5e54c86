"""Waits at a FIFO that nobody opens.

expect: time_limit
"""

import os


def run(x):
    os.mkfifo("/tmp/pipe")
    return open("/tmp/pipe").read()
