"""Online softmax for a tile of four rows over three key tiles of two: the state after each tile.

Rows: one whose maximum rises, one whose maximum falls, one whose first two tiles are masked, one that
is masked throughout. Values are 1, 2, … 6, so the last column is the mean position that a row attends
to. `no guard` is the same program without the finite base; `no guard matmul` also rescales by a real
product with diag(alpha).
"""

import numpy as np

N = -np.inf
SCORES = np.array([[1.0, 2, 4, 3, 2, 0], [5, 4, 1, 0, 0, 1], [N, N, N, N, 3, 2], [N, N, N, N, N, N]])
VALUES = np.arange(1.0, 7)[:, None]
NAMES = ("rising", "falling", "late", "masked")


def update(m, total, acc, scores, values, guard=True, matmul=False):
    """State of R rows after one key tile: m [R], total [R], acc [R, D]. Also the rescale [R]."""
    peak = np.maximum(m, scores.max(axis=1))
    base = np.where(np.isneginf(peak), 0.0, peak) if guard else peak
    alpha = np.exp(m - base)
    p = np.exp(scores - base[:, None])
    kept = np.diag(alpha) @ acc if matmul else alpha[:, None] * acc
    return peak, alpha * total + p.sum(axis=1), kept + np.einsum("rc,cd->rd", p, values), alpha


def finish(total, acc):
    """Output [R, D]; a row that saw no key gives zeros."""
    return np.divide(acc, total[:, None], out=np.zeros_like(acc), where=total[:, None] > 0)


def run(guard=True, matmul=False):
    m, total, acc = np.full(4, N), np.zeros(4), np.zeros((4, 1))
    history = []
    for start in range(0, 6, 2):
        tile = slice(start, start + 2)
        m, total, acc, alpha = update(m, total, acc, SCORES[:, tile], VALUES[tile], guard, matmul)
        history.append((m, alpha, total))
    return history, finish(total, acc) if guard else acc / total[:, None]


if __name__ == "__main__":
    np.seterr(invalid="ignore")
    history, out = run()
    bare, mixed = run(guard=False)[1], run(guard=False, matmul=True)[1]
    steps = ("m 1", "l 1", "rescale 2", "l 2", "rescale 3", "l 3")
    print("row", *steps, "output", "no guard", "no guard matmul", sep=",")
    for r, name in enumerate(NAMES):
        (m1, _, l1), (_, a2, l2), (_, a3, l3) = history
        state = [f"{value[r]:.3g}" for value in (m1, l1, a2, l2, a3, l3)]
        print(name, *state, f"{out[r, 0]:.3f}", f"{bare[r, 0]:.3f}", f"{mixed[r, 0]:.3f}", sep=",")
