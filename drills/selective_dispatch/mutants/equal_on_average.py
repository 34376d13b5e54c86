"""Lengths count as equal when their sum is that of equal ones.

ask: Can lengths differ and still have the first one as their mean?
expect: wrong_answer
"""

TABLE = {
    "decode one": {"in_use": (55.1, 0.002), "new": (16.1, 0.002), "tiled": (55.6, 0.002)},
    "decode equal": {"in_use": (134.2, 0.002), "new": (99.3, 0.002), "tiled": (141.0, 0.002)},
    "decode ragged": {"in_use": (138.3, 0.002), "new": (52.1, 0.9), "tiled": (144.8, 0.002)},
    "chunk": {"in_use": (131.3, 0.002), "new": (159.3, 0.002), "tiled": (112.4, 0.002)},
    "chunks ragged": {"in_use": (170.2, 0.002), "new": (88.0, 0.7), "tiled": (131.9, 0.03)},
}


def row_of(shape):
    lengths = shape["lengths"]
    ragged = sum(lengths) != len(lengths) * lengths[0]
    if shape["queries"] > 1:
        return "chunks ragged" if ragged else "chunk"
    if ragged:
        return "decode ragged"
    return "decode equal" if len(shape["lengths"]) > 1 else "decode one"


def best(row):
    right = {name: time for name, (time, error) in TABLE[row].items() if error <= 0.01}
    return min(right, key=right.get)


def choose(shape):
    return best(row_of(shape))


def speedup(mix):
    before = sum(calls * TABLE[row]["in_use"][0] for row, calls in mix.items())
    after = sum(calls * (TABLE[row][best(row)][0] + 2) for row, calls in mix.items())
    return 1 / (0.6 + 0.4 * after / before)
