"""A single query sees everything, any other shape gets the triangle at the top left.

ask: One query is right and two are not. Which of the two did you treat as a special case?
expect: wrong_answer
"""

import numpy as np


def visible(q_len, kv_len):
    offset = kv_len - 1 if q_len == 1 else 0
    position = np.arange(q_len)[:, None] + offset
    return np.arange(kv_len)[None, :] <= position
