"""Everything is cut by columns, so a rank lacks most of the input of o_proj and down_proj.

ask: After a column cut a rank has a piece of the vector. Which matrix of yours then needs all of it?
expect: wrong_answer
"""

def plan():
    return {
        "q_proj": "column",
        "k_proj": "column",
        "v_proj": "column",
        "o_proj": "column",
        "gate_proj": "column",
        "up_proj": "column",
        "down_proj": "column",
    }


def bytes_sent(tokens, ranks):
    vector = 8192 * 2
    all_reduces = 2 * 80 * tokens
    return all_reduces * vector * 2 * (ranks - 1) // ranks
