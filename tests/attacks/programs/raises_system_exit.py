"""Asks Python to stop.

expect: raised
"""

import sys


def run(x):
    sys.exit(0)
