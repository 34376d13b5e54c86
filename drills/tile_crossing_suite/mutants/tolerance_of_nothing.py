"""A tolerance below the rounding of float32.

ask: Run two correct kernels that add in another order. By how much do they differ, and what does your tolerance say to both?
expect: wrong_answer
"""

DATA = ("normal", "rising", "falling", "negative", "constant", "spike")


def cases():
    return [
        {"q_len": q, "kv_len": k, "data": data, "tolerance": 1e-9}
        for data in DATA
        for q, k in ((17, 17), (3, 33), (1, 129))
    ]
