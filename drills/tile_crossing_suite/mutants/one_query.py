"""Always one query, as in decoding.

ask: What does a kernel do with the second tile of queries that it does not do with the first?
expect: wrong_answer
"""

DATA = ("normal", "rising", "falling", "negative", "constant", "spike")


def cases():
    return [
        {"q_len": q, "kv_len": k, "data": data, "tolerance": 1e-5}
        for data in DATA
        for q, k in ((1, 1), (1, 17), (1, 33), (1, 129))
    ]
