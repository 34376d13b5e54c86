"""Selective dispatch as it was proposed: the new backend for all of decode, and an average of ratios."""

IN_USE = {"decode one": 55.1, "decode equal": 134.2, "decode ragged": 138.3, "chunk": 131.3, "chunks ragged": 170.2}
NEW = {"decode one": 16.1, "decode equal": 99.3, "decode ragged": 52.1, "chunk": 159.3, "chunks ragged": 88.0}


def choose(shape):
    return "new" if shape["queries"] == 1 else "in_use"


def speedup(mix):
    ratios = [IN_USE[row] / NEW[row] for row in mix]
    return sum(ratios) / len(ratios)
