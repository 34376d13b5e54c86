"""Every kind of data at lengths around one tile and two, and one long case of each."""

DATA = ("normal", "rising", "falling", "negative", "constant", "spike")


def cases():
    lengths = [(1, 1), (15, 15), (16, 17), (17, 16), (3, 33), (1, 145)]
    return [{"q_len": q, "kv_len": k, "data": data, "tolerance": 1e-5} for data in DATA for q, k in lengths]
