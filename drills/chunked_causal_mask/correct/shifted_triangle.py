"""A lower triangle whose diagonal is shifted by the number of cached keys."""

import numpy as np


def visible(q_len, kv_len):
    return np.tri(q_len, kv_len, k=kv_len - q_len, dtype=bool)
