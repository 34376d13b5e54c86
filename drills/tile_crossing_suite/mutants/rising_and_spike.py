"""The maximum always rises, so no tile is ever below the one before.

ask: What happens in a tile whose largest score changes nothing, and which data bring one?
expect: wrong_answer
"""

def cases():
    return [
        {"q_len": q, "kv_len": k, "data": data, "tolerance": 1e-5}
        for data in ("rising",)
        for q, k in ((17, 17), (3, 31), (1, 129))
    ] + [{"q_len": 1, "kv_len": 32, "data": "spike", "tolerance": 1e-5}]
