"""Prints without end from children, past Python's own streams.

expect: output_limit
"""

import os


def run(x):
    os.fork()
    while True:
        os.write(2, b"\x00\xff\x1b[31m" * 10_000)
