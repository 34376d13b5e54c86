"""The triangle is aligned at the top left: query 0 stands at position 0.

ask: Square shapes are right. At which position of the sequence does your query 0 stand?
expect: wrong_answer
"""

import numpy as np


def visible(q_len, kv_len):
    position = np.arange(q_len)[:, None]
    return np.arange(kv_len)[None, :] <= position
