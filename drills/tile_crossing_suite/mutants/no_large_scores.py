"""Everything but a score whose exponential overflows.

ask: From which score on is its exponential infinite in float32, and which of your cases reaches it?
expect: wrong_answer
"""

DATA = ("normal", "rising", "falling", "negative", "constant", "spike")


def cases():
    return [
        {"q_len": q, "kv_len": k, "data": data, "tolerance": 1e-5}
        for data in DATA[:-1]
        for q, k in ((17, 17), (3, 33), (1, 129))
    ]
