"""Who sees whom, from positions in the sequence."""

import numpy as np
from numpy.typing import NDArray


def visible(q_len: int, kv_len: int) -> NDArray[np.bool_]:
    """``bool[q_len, kv_len]``: key j ≤ the position of query i, which is i + kv_len − q_len."""
    position = np.arange(q_len) + (kv_len - q_len)
    return np.asarray(np.arange(kv_len)[None, :] <= position[:, None])
