"""The offset is not allowed to be negative, so with more queries than keys the first ones see what they must not.

ask: It is right while there are at least as many keys as queries. What is your offset when there are fewer?
expect: wrong_answer
"""

import numpy as np


def visible(q_len, kv_len):
    position = np.arange(q_len)[:, None] + max(0, kv_len - q_len)
    return np.arange(kv_len)[None, :] <= position
