"""As many queries as keys, always.

ask: Which loop of the kernel would still be right if it counted the other length?
expect: wrong_answer
"""

DATA = ("normal", "rising", "falling", "negative", "constant", "spike")


def cases():
    return [
        {"q_len": q, "kv_len": k, "data": data, "tolerance": 1e-5}
        for data in ("rising", "spike")
        for q, k in ((1, 1), (17, 17), (49, 49))
    ] + [{"q_len": 129, "kv_len": 129, "data": "negative", "tolerance": 1e-5}]
