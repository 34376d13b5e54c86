"""No case is longer than a tile.

ask: Which part of the state does a kernel need only from the second tile on?
expect: wrong_answer
"""

DATA = ("normal", "rising", "falling", "negative", "constant", "spike")


def cases():
    return [
        {"q_len": q, "kv_len": k, "data": data, "tolerance": 1e-5}
        for data in DATA
        for q, k in ((1, 1), (7, 15), (15, 7), (16, 16))
    ]
