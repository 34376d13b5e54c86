"""Seen from the end, the newest query and the newest key are both number 0: there the triangle starts."""

import numpy as np


def visible(q_len, kv_len):
    from_the_end = np.triu(np.ones((q_len, kv_len), dtype=bool))
    return from_the_end[::-1, ::-1]
