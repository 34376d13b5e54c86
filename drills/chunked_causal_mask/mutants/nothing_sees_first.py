"""Rows that would see nothing are given the first key, to keep the softmax finite.

ask: What does the contract say of a query whose keys were all cut off?
expect: wrong_answer
"""

import numpy as np


def visible(q_len, kv_len):
    position = np.arange(q_len)[:, None] + (kv_len - q_len)
    position = np.maximum(position, 0)
    return np.arange(kv_len)[None, :] <= position
