"""Each half of a block is a list of matrices, and only the last of a half is cut by rows."""

from fractions import Fraction
from math import floor

HALVES = (("q_proj", "k_proj", "v_proj", "o_proj"), ("gate_proj", "up_proj", "down_proj"))


def plan():
    return {name: "row" if name == half[-1] else "column" for half in HALVES for name in half}


def bytes_sent(tokens, ranks):
    per_all_reduce = Fraction(2 * (ranks - 1), ranks) * tokens * 8192 * 2
    return floor(per_all_reduce * len(HALVES) * 80)
