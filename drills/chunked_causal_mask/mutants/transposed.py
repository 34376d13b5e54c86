"""The mask comes as [kv_len, q_len].

ask: Which of your two axes counts queries?
expect: wrong_answer
"""

import numpy as np


def visible(q_len, kv_len):
    position = np.arange(q_len)[:, None] + (kv_len - q_len)
    return (np.arange(kv_len)[None, :] <= position).T
