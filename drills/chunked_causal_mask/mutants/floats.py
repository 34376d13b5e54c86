"""Ones and zeros as floats instead of booleans.

ask: Which type does the contract promise?
expect: wrong_answer
"""

import numpy as np


def visible(q_len, kv_len):
    position = np.arange(q_len)[:, None] + (kv_len - q_len)
    return (np.arange(kv_len)[None, :] <= position).astype(np.float32)
