"""Returns a view that shows one element a billion times.

expect: refused
"""

import numpy as np


def run(x):
    return np.broadcast_to(np.float32(1), (1 << 30,))
