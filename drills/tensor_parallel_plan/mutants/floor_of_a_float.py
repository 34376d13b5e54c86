"""The quotient is formed in floating point, and rounded down afterwards.

ask: Is your result always an exact count? How many digits does a float keep of a number with eighteen?
expect: wrong_answer
"""

import math


def plan():
    return {
        "q_proj": "column",
        "k_proj": "column",
        "v_proj": "column",
        "o_proj": "row",
        "gate_proj": "column",
        "up_proj": "column",
        "down_proj": "row",
    }


def bytes_sent(tokens, ranks):
    return math.floor(2 * 80 * tokens * 8192 * 2 * 2 * (ranks - 1) / ranks)
