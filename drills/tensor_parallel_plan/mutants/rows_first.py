"""Rows where a half begins, columns where it ends.

ask: Follow one half of the block: what enters it is whole on every rank. Which cut can use that as it is?
expect: wrong_answer
"""

def plan():
    return {
        "q_proj": "row",
        "k_proj": "row",
        "v_proj": "row",
        "o_proj": "column",
        "gate_proj": "row",
        "up_proj": "row",
        "down_proj": "column",
    }


def bytes_sent(tokens, ranks):
    vector = 8192 * 2
    all_reduces = 2 * 80 * tokens
    return all_reduces * vector * 2 * (ranks - 1) // ranks
