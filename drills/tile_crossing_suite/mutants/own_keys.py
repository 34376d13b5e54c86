"""Its cases name their lengths in another way.

ask: Which four keys does the contract name, and how are they spelt?
expect: wrong_answer
"""

DATA = ("normal", "rising", "falling", "negative", "constant", "spike")


def cases():
    return [
        {"queries": q, "keys": k, "data": data, "tolerance": 1e-5}
        for data in DATA
        for q, k in ((17, 17), (3, 33), (1, 129))
    ]
