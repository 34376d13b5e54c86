"""Equal scores only.

ask: If all scores are equal, which of the kernel's steps could be left out unseen?
expect: wrong_answer
"""

def cases():
    return [
        {"q_len": q, "kv_len": k, "data": data, "tolerance": 1e-5}
        for data in ("constant",)
        for q, k in ((17, 17), (3, 33), (1, 129))
    ]
