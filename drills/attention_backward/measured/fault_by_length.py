"""Faults of the backward pass by length, causal, depth 16, tiles of 64: which gradient is off, and by how much.

The error is the largest difference over the largest entry, of the worst of dq, dk and dv; below 1e-05 is rounding.
"""

import runpy
from pathlib import Path

import numpy as np
import torch

DRILL = Path(__file__).parents[1]
FILES = {
    "as it should be": "correct/tiles.py",
    "no delta": "mutants/no_delta.py",
    "delta by tile": "mutants/delta_by_tile.py",
    "dk overwritten": "mutants/dk_overwritten.py",
    "mask by tile": "mutants/mask_by_tile_position.py",
    "tail dropped": "mutants/tail_dropped.py",
}
NAMES = ("dq", "dk", "dv")


def forward(length):
    rng = np.random.default_rng(9)
    q, k, v, do = rng.standard_normal((4, length, 16)).astype(np.float32)
    scores = q.astype(np.float64) @ k.T.astype(np.float64) / 4
    scores[np.triu_indices(length, 1)] = -np.inf
    top = scores.max(axis=1)
    lse = top + np.log(np.exp(scores - top[:, None]).sum(axis=1))
    o = np.exp(scores - lse[:, None]) @ v
    return [x.astype(np.float32) for x in (q, k, v, o, lse, do)]


def said(got, exact):
    errors = [np.abs(a.numpy() - b).max() / np.abs(b).max() for a, b in zip(got, exact, strict=True)]
    worst = int(np.argmax(errors))
    return "< 1e-05" if errors[worst] < 1e-5 else f"{NAMES[worst]} {errors[worst]:.1g}"


reference = runpy.run_path(str(DRILL / "reference.py"))["backward"]
others = [runpy.run_path(str(DRILL / file))["backward"] for file in FILES.values()]
print("tokens", *FILES, sep=",")
for length in (16, 64, 65, 128, 200):
    arrays = forward(length)
    exact = reference(*(array.astype(np.float64) for array in arrays), True)
    tensors = [torch.from_numpy(array) for array in arrays]
    print(length, *(said(backward(*tensors, True), exact) for backward in others), sep=",")
