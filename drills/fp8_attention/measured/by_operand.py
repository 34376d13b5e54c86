"""Error of the output when one operand at a time goes through E4M3, and with all four, over plain quantisation's.

256 tokens, 64 dimensions, four channels of k with an offset of 80 to 140. `centred` subtracts the mean of k first.
"""

import sys
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).parents[3] / "grader"))
from drill_kit import to_e4m3

TOKENS, DEPTH = 256, 64
OPERANDS = ("q", "k", "weights", "v")


def draw():
    rng = np.random.default_rng(8)
    q, k, v = rng.standard_normal((3, TOKENS, DEPTH))
    channels = rng.choice(DEPTH, 4, replace=False)
    k[:, channels] = rng.uniform(80, 140, 4) * rng.choice([-1, 1], 4) + 3 * k[:, channels]
    return q, k, v


def quantised(x):
    scale = np.abs(x).max() / 448
    return to_e4m3(x / scale) * scale


def attend(q, k, v, rounded):
    q, k, v = (quantised(x) if name in rounded else x for name, x in zip(("q", "k", "v"), (q, k, v), strict=True))
    scores = q @ k.T / np.sqrt(DEPTH)
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return (to_e4m3(weights) if "weights" in rounded else weights) @ v / weights.sum(axis=1, keepdims=True)


def error(got, exact):
    return np.sqrt(((got - exact) ** 2).mean())


q, k, v = draw()
exact = attend(q, k, v, ())
plain = error(attend(q, k, v, OPERANDS), exact)
print("through E4M3,as they come,k centred")
for name, rounded in (*((each, (each,)) for each in OPERANDS), ("all four", OPERANDS)):
    errors = [error(attend(q, keys, v, rounded), exact) / plain for keys in (k, k - k.mean(axis=0))]
    print(name, *(f"{each:.2f}" for each in errors), sep=",")
