"""More than eight ranks are counted as eight.

ask: Up to how many ranks are you right? What does the formula do with more?
expect: wrong_answer
"""


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
    ranks = min(ranks, 8)
    return 2 * 80 * tokens * 8192 * 2 * 2 * (ranks - 1) // ranks
