"""All lengths are multiples of the tile.

ask: What is true of the last tile in every one of your cases?
expect: wrong_answer
"""

DATA = ("normal", "rising", "falling", "negative", "constant", "spike")


def cases():
    return [
        {"q_len": q, "kv_len": k, "data": data, "tolerance": 1e-5}
        for data in DATA
        for q, k in ((16, 16), (32, 32), (16, 144))
    ]
