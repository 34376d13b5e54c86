"""The ring factor is (p − 1)/p: that of a gather, half of an all-reduce.

ask: A ring passes pieces on to add them up. How does every rank then come by all the sums?
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
    vector = 8192 * 2
    all_reduces = 2 * 80 * tokens
    return all_reduces * vector * (ranks - 1) // ranks
