"""The causal mask of a chunk: the triangle of the textbook. It is right for a whole prompt at once."""

import numpy as np


def visible(q_len, kv_len):
    return np.tril(np.ones((q_len, kv_len), dtype=bool))
