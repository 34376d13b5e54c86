"""The bottom right corner of a square mask that is large enough for both: a view, not a copy."""

import numpy as np


def visible(q_len, kv_len):
    n = max(q_len, kv_len)
    square = np.tril(np.ones((n, n), dtype=bool))
    return square[n - q_len :, n - kv_len :]
