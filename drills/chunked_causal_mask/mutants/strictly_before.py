"""A token does not see itself.

ask: Does the newest token see its own key? What does your last row say?
expect: wrong_answer
"""

import numpy as np


def visible(q_len, kv_len):
    position = np.arange(q_len)[:, None] + (kv_len - q_len)
    return np.arange(kv_len)[None, :] < position
