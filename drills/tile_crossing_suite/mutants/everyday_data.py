"""Standard normal scores at well chosen lengths.

ask: Which of your cases would fail on every draw of the data, and which only where the maximum happens to lie?
expect: wrong_answer
"""

def cases():
    return [
        {"q_len": q, "kv_len": k, "data": data, "tolerance": 1e-5}
        for data in ("normal",)
        for q, k in ((1, 17), (17, 17), (3, 33), (1, 129))
    ]
