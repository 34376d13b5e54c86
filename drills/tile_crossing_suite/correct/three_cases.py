"""Three cases, each of which stretches another side: rows, the range of scores, the number of tiles."""


def cases():
    return [
        {"q_len": 17, "kv_len": 3, "data": "normal", "tolerance": 2e-5},
        {"q_len": 1, "kv_len": 33, "data": "spike", "tolerance": 2e-5},
        {"q_len": 5, "kv_len": 129, "data": "negative", "tolerance": 2e-5},
    ]
