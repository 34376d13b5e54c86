"""Allocates until it is stopped.

expect: out_of_memory
"""

import numpy as np


def run(x):
    kept = []
    while True:
        kept.append(np.ones(1 << 20))
