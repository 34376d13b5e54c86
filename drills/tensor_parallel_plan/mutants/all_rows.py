"""Everything is cut by rows, so every product has to be added up.

ask: How many all-reduces does your plan need, and what does a rank hold before the first one?
expect: wrong_answer
"""

def plan():
    return {
        "q_proj": "row",
        "k_proj": "row",
        "v_proj": "row",
        "o_proj": "row",
        "gate_proj": "row",
        "up_proj": "row",
        "down_proj": "row",
    }


def bytes_sent(tokens, ranks):
    vector = 8192 * 2
    all_reduces = 2 * 80 * tokens
    return all_reduces * vector * 2 * (ranks - 1) // ranks
