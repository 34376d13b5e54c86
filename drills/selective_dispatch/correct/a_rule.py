"""The rule that the table comes to, and only the cells that it needs."""

BEFORE = {"decode one": 55.1, "decode equal": 134.2, "decode ragged": 138.3, "chunk": 131.3, "chunks ragged": 170.2}
AFTER = BEFORE | {"decode one": 16.1, "decode equal": 99.3, "chunk": 112.4}


def choose(shape):
    if min(shape["lengths"]) < max(shape["lengths"]):
        return "in_use"
    return "tiled" if shape["queries"] > 1 else "new"


def speedup(mix):
    before = after = 0.0
    for row, calls in mix.items():
        before += calls * BEFORE[row]
        after += calls * (AFTER[row] + 2)
    others = before * 3 / 2
    return (before + others) / (after + others)
