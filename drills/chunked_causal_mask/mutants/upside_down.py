"""The comparison is turned round: each query sees the future.

ask: Which of the two sides of your comparison is the past?
expect: wrong_answer
"""

import numpy as np


def visible(q_len, kv_len):
    position = np.arange(q_len)[:, None] + (kv_len - q_len)
    return np.arange(kv_len)[None, :] >= position
