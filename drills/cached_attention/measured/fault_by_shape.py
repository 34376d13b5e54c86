"""Faults against the reference by shape: (new tokens, cached, query heads, KV heads), 16 slots, depth 8.

The error is the largest difference of the output over the largest output; below 1e-05 it is rounding. Slots that
hold nothing are NaN.
"""

import runpy
from pathlib import Path

import numpy as np
import torch

DRILL = Path(__file__).parents[1]
SHAPES = {
    "prompt": (4, 0, 2, 2),
    "decode": (1, 6, 2, 2),
    "chunk": (3, 6, 2, 2),
    "chunk of 4 over 2 heads": (3, 6, 4, 2),
    "chunk of 6 over 2 heads": (3, 6, 6, 2),
    "chunk of 6 over 3 heads": (3, 6, 6, 3),
    "cache full afterwards": (3, 13, 2, 2),
}
FILES = {
    "starter": "starter.py",
    "no mask": "mutants/no_mask.py",
    "mask top left": "mutants/top_left_alignment.py",
    "h // Hkv": "mutants/group_divisor.py",
    "h % Hkv": "mutants/transposed_head_map.py",
    "whole cache read": "mutants/whole_cache_read.py",
}
SLOTS, DEPTH = 16, 8


def draw(new, cached, heads, kv_heads):
    rng = np.random.default_rng(4)
    q, k, v = (rng.standard_normal((n, new, DEPTH)).astype(np.float32) for n in (heads, kv_heads, kv_heads))
    caches = rng.standard_normal((2, kv_heads, SLOTS, DEPTH)).astype(np.float32)
    caches[:, :, cached:] = np.nan
    return q, k, v, *caches


def error(attend, shape, exact):
    arguments = [torch.from_numpy(array) for array in draw(*shape)]
    try:
        out = attend(*arguments, shape[1]).numpy()
    except RuntimeError:
        return "raises"
    worst = np.abs(out - exact).max() / np.abs(exact).max()
    return "NaN" if np.isnan(worst) else "< 1e-05" if worst < 1e-5 else f"{worst:.1g}"


reference = runpy.run_path(str(DRILL / "reference.py"))["attend"]
others = [runpy.run_path(str(DRILL / file))["attend"] for file in FILES.values()]
print("shape", *FILES, sep=",")
for name, shape in SHAPES.items():
    exact = reference(*(array.astype(np.float64) for array in draw(*shape)), shape[1])[0]
    print(name, *(error(attend, shape, exact) for attend in others), sep=",")
