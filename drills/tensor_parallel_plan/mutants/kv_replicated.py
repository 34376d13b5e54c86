"""k and v are copied to every rank.

ask: With as many KV heads as ranks, what does copying k and v save?
expect: wrong_answer
"""

def plan():
    return {
        "q_proj": "column",
        "k_proj": "replicated",
        "v_proj": "replicated",
        "o_proj": "row",
        "gate_proj": "column",
        "up_proj": "column",
        "down_proj": "row",
    }


def bytes_sent(tokens, ranks):
    vector = 8192 * 2
    all_reduces = 2 * 80 * tokens
    return all_reduces * vector * 2 * (ranks - 1) // ranks
