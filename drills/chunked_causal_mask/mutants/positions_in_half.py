"""Positions are compared as fp16, which holds whole numbers up to 2,048 only.

ask: Right for short sequences. Up to which number does the type of your positions hold every whole number?
expect: wrong_answer
"""

import numpy as np


def visible(q_len, kv_len):
    keys = np.arange(kv_len).astype(np.float16)
    queries = np.arange(kv_len - q_len, kv_len).astype(np.float16)
    return keys[None, :] <= queries[:, None]
