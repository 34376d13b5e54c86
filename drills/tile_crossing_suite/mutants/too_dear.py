"""Every pair of lengths, whatever it costs.

ask: Which of your cases catch a fault that none of the cheaper ones does?
expect: wrong_answer
"""

DATA = ("normal", "rising", "falling", "negative", "constant", "spike")


def cases():
    return [
        {"q_len": q, "kv_len": k, "data": data, "tolerance": 1e-5}
        for data in DATA
        for q, k in [(q, k) for q in (1, 16, 17, 33) for k in (1, 16, 17, 33, 129)]
    ]
