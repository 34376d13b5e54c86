"""Everything is visible.

ask: What may the first of two new tokens not see?
expect: wrong_answer
"""

import numpy as np


def visible(q_len, kv_len):
    position = np.arange(q_len)[:, None] + (kv_len - q_len)
    return np.arange(kv_len)[None, :] < kv_len + 0 * position
