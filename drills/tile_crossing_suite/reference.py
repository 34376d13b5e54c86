"""The cheapest suite that is known: three cases, 14 tile steps.

It is the least over all sets of up to four cases with 1, 16 or 17 queries and key lengths around tiles up to 144; a
cheaper one may exist.
"""


def cases() -> list[dict[str, object]]:
    return [
        {"q_len": 17, "kv_len": 2, "data": "normal", "tolerance": 1e-5},  # a second tile of queries, partial
        {"q_len": 1, "kv_len": 33, "data": "spike", "tolerance": 1e-5},  # the maximum in a middle tile, and far up
        {"q_len": 16, "kv_len": 129, "data": "negative", "tolerance": 1e-5},  # nine tiles, the last with one key
    ]
