"""A gated feed-forward half on two ranks, cut as each plan says, against the whole: what rank 0 gets alone, what
one all-reduce at the end gives. Width 8, 16 inside, 3 tokens, standard normal. Errors below 1e-12 are rounding.
"""

import numpy as np

PLANS = {
    "columns then rows": ("column", "column", "row"),
    "columns throughout": ("column", "column", "column"),
    "rows then columns": ("row", "row", "column"),
    "up by rows": ("column", "row", "row"),
}
rng = np.random.default_rng(3)
GATE, UP, DOWN = rng.standard_normal((8, 16)), rng.standard_normal((8, 16)), rng.standard_normal((16, 8))
X = rng.standard_normal((3, 8))


def silu(x):
    return x / (1 + np.exp(-x))


def product(x, matrix, cut, rank):
    """What this rank computes of x · matrix, in the places of the whole result; what it does not hold is 0."""
    mine = np.zeros_like(matrix)
    axis = 1 if cut == "column" else 0
    part = np.array_split(np.arange(matrix.shape[axis]), 2)[rank]
    place = (slice(None), part) if cut == "column" else (part, slice(None))
    mine[place] = matrix[place]
    return x @ mine


def half(plan, rank):
    gate, up, down = plan
    inner = silu(product(X, GATE, gate, rank)) * product(X, UP, up, rank)
    return product(inner, DOWN, down, rank)


def said(error):
    return "< 1e-12" if error < 1e-12 else f"{error:.2g}"


whole = (silu(X @ GATE) * (X @ UP)) @ DOWN
print("plan,rank 0 alone,after one all-reduce")
for name, plan in PLANS.items():
    shares = [half(plan, rank) for rank in (0, 1)]
    errors = [np.abs(got - whole).max() / np.abs(whole).max() for got in (shares[0], sum(shares))]
    print(name, *map(said, errors), sep=",")
