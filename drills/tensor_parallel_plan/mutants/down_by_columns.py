"""down is cut by columns.

ask: Which elements of its input does a rank have when it comes to down_proj?
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
        "down_proj": "column",
    }


def bytes_sent(tokens, ranks):
    vector = 8192 * 2
    all_reduces = 2 * 80 * tokens
    return all_reduces * vector * 2 * (ranks - 1) // ranks
