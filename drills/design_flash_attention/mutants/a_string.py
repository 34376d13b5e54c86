"""One text instead of four.

ask: Which four keys does the contract name?
expect: wrong_answer
"""


def designOutline():
    return "Q stays in shared memory, K and V stream through it in tiles of 64 keys, because O is then written once."
