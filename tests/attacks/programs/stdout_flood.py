"""Prints 10 GB.

expect: output_limit
"""

import sys


def run(x):
    line = "x" * 9999 + "\n"
    for _ in range(10**6):
        sys.stdout.write(line)
