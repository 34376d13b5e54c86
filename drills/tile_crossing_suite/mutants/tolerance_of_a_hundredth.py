"""A tolerance that half-precision state does not exceed.

ask: By how much does a kernel err that keeps its state in half precision, and what does your tolerance say to that?
expect: wrong_answer
"""

DATA = ("normal", "rising", "falling", "negative", "constant", "spike")


def cases():
    return [
        {"q_len": q, "kv_len": k, "data": data, "tolerance": 1e-2}
        for data in DATA
        for q, k in ((17, 17), (3, 33), (1, 129))
    ]
