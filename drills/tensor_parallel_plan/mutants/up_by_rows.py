"""up is cut by rows while gate is cut by columns.

ask: gate and up are multiplied element by element. Which elements does a rank have of each?
expect: wrong_answer
"""

def plan():
    return {
        "q_proj": "column",
        "k_proj": "column",
        "v_proj": "column",
        "o_proj": "row",
        "gate_proj": "column",
        "up_proj": "row",
        "down_proj": "row",
    }


def bytes_sent(tokens, ranks):
    vector = 8192 * 2
    all_reduces = 2 * 80 * tokens
    return all_reduces * vector * 2 * (ranks - 1) // ranks
