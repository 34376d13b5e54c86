"""Each query sees one key of the future.

ask: Does the query before the last one see the newest key?
expect: wrong_answer
"""

import numpy as np


def visible(q_len, kv_len):
    position = np.arange(q_len)[:, None] + (kv_len - q_len + 1)
    return np.arange(kv_len)[None, :] <= position
