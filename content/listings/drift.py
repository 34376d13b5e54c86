"""Four fused attention kernels against a float64 reference: relative error by score order and length.

One query per row, 64 rows, key tile 128, values uniform in [0, 1). Scores are standard normal; in `sink` order the
first key of every row scores 4.5 instead, `rising` and `falling` sort each row. The error is the largest absolute
difference over the largest expected value; below 2e-06 it is fp32 rounding, and only that is said.
"""

import numpy as np

TILE, ROWS, WIDTH, SINK = 128, 64, 16, 4.5


def attend(scores, values, state=np.float32, rescale=True, fill=-np.inf):
    """Scores [R, N] and values [R, N, D], tile by tile, keeping maximum, sum and accumulator of each row.

    Returns the output [R, D].
    """
    rows, length = scores.shape
    pad = -length % TILE
    scores = np.pad(scores, ((0, 0), (0, pad)), constant_values=fill)
    values = np.pad(values, ((0, 0), (0, pad), (0, 0)))
    m = np.full(rows, -np.inf, np.float32)
    total = np.zeros(rows, state)
    acc = np.zeros((rows, values.shape[2]), state)
    for start in range(0, length, TILE):
        s, v = scores[:, start : start + TILE], values[:, start : start + TILE]
        peak = np.maximum(m, s.max(axis=1))
        p = np.exp(s - peak[:, None])
        fade = np.exp(m - peak)
        total = (total * fade + p.sum(axis=1)).astype(state)
        kept = acc * fade[:, None] if rescale else acc
        acc = (kept + np.einsum("rn,rnd->rd", p, v)).astype(state)
        m = peak
    return acc.astype(np.float64) / total.astype(np.float64)[:, None]


def reference(scores, values):
    s = scores.astype(np.float64)
    p = np.exp(s - s.max(axis=1, keepdims=True))
    return np.einsum("rn,rnd->rd", p, values.astype(np.float64)) / p.sum(axis=1)[:, None]


def draw(order, length):
    rng = np.random.default_rng(6)
    scores = rng.standard_normal((ROWS, length)).astype(np.float32)
    values = rng.random((ROWS, length, WIDTH), np.float32)
    if order == "sink":
        scores[:, 0] = SINK
    else:
        scores.sort(axis=1)
    return (scores[:, ::-1] if order == "falling" else scores), values


KERNELS = {
    "healthy": {},
    "acc not rescaled": {"rescale": False},
    "fp16 state": {"state": np.float16},
    "phantom tail": {"fill": 0.0},
}
CASES = [("sink", n) for n in (512, 513, 2048, 8000, 8064)]
CASES += [(order, n) for order in ("rising", "falling") for n in (512, 8000)]

if __name__ == "__main__":
    print("order and length", *KERNELS, "rows with a late maximum", sep=",")
    for order, length in CASES:
        scores, values = draw(order, length)
        want = reference(scores, values)
        errors = [np.abs(attend(scores, values, **kernel) - want).max() / want.max() for kernel in KERNELS.values()]
        shown = ["rounding" if error < 2e-6 else f"{error:.0e}" for error in errors]
        print(f"{order} {length}", *shown, (scores.argmax(axis=1) >= TILE).sum(), sep=",")
