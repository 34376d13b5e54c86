"""Partial tiles, but none that holds a single key.

ask: A loop runs to kv_len − 1. Which partial tile does it lose as a whole?
expect: wrong_answer
"""

DATA = ("normal", "rising", "falling", "negative", "constant", "spike")


def cases():
    return [
        {"q_len": q, "kv_len": k, "data": data, "tolerance": 1e-5}
        for data in DATA
        for q, k in ((20, 20), (3, 40), (1, 139))
    ]
