"""It asks for ever, and swallows what it is told.

expect: rule_broken
"""

import numpy as np


def diagnose(kernel):
    big = np.ones((2048, 64))
    while True:
        try:
            kernel(big, big, big)
        except Exception:
            pass
