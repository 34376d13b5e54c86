"""Many short cases, no long one.

ask: Which faults of a kernel begin only after a number of tiles that somebody wrote down?
expect: wrong_answer
"""

DATA = ("normal", "rising", "falling", "negative", "constant", "spike")


def cases():
    return [
        {"q_len": q, "kv_len": k, "data": data, "tolerance": 1e-5}
        for data in DATA
        for q, k in ((17, 17), (3, 33), (5, 63))
    ]
