"""Columns compared with the position of each query."""

import numpy as np


def visible(q_len, kv_len):
    position = np.arange(q_len)[:, None] + (kv_len - q_len)
    return np.arange(kv_len)[None, :] <= position
