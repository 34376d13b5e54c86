"""The rows are numbered in eight bits: row 256 is row 0 again.

ask: Right up to 256 queries. What type do your positions have, and what is the largest number in it?
expect: wrong_answer
"""

import numpy as np


def visible(q_len, kv_len):
    rows = np.arange(q_len).astype(np.uint8)
    return np.arange(kv_len)[None, :] <= rows[:, None].astype(int) + (kv_len - q_len)
