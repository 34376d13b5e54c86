"""A gated feed-forward split over ranks: error of the right split and of four wrong ones.

Width 256, inner width 1,024, 32 tokens, float32 per rank, sums over ranks in float32 except in the last column,
which rounds each partial sum to bf16 before adding. Reference in float64 on one rank. The error is the largest
absolute difference over the largest expected value; below 5e-06 it is rounding, and only that is said.
"""

import numpy as np

WIDTH, INNER, TOKENS = 256, 1024, 32


def silu(x):
    return x / (1 + np.exp(-x))


def to_bf16(x):
    """Round float32 to the nearest bf16, ties to even, returned as float32."""
    bits = np.ascontiguousarray(x, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000).astype(np.uint32).view(np.float32)


def split(x, gate, up, down, bias, ranks, fault=""):
    """Column-split gate and up, row-split down, one sum over ranks. x [T, W]; returns [T, W]."""
    parts = []
    for rank in range(ranks):
        own = slice(rank * INNER // ranks, (rank + 1) * INNER // ranks)
        g, u = gate[:, own], up[:, own]
        if fault == "packed cut in one piece":
            packed = np.concatenate([gate, up], axis=1)[:, 2 * own.start : 2 * own.stop]
            g, u = np.split(packed, 2, axis=1)
        if fault == "inputs cut first":  # a function of partial sums: the sum over ranks would have to come first
            half = slice(rank * WIDTH // ranks, (rank + 1) * WIDTH // ranks)
            parts.append(silu(x[:, half] @ gate[half]) * (x[:, half] @ up[half]) @ down)
            continue
        part = silu(x @ g) * (x @ u) @ down[own]
        if fault == "bias on every rank":
            part = part + bias
        parts.append(to_bf16(part) if fault == "partial sums in bf16" else part)
    return sum(parts) + (0 if fault == "bias on every rank" else bias)


FAULTS = ["", "bias on every rank", "packed cut in one piece", "inputs cut first", "partial sums in bf16"]

if __name__ == "__main__":
    rng = np.random.default_rng(2)
    x = rng.standard_normal((TOKENS, WIDTH)).astype(np.float32)
    gate, up = (rng.standard_normal((WIDTH, INNER)).astype(np.float32) / WIDTH**0.5 for _ in range(2))
    down = rng.standard_normal((INNER, WIDTH)).astype(np.float32) / np.float32(INNER**0.5)
    bias = rng.standard_normal(WIDTH).astype(np.float32)
    wide = [each.astype(np.float64) for each in (x, gate, up, down, bias)]
    want = split(*wide, 1)
    print("ranks", *[fault or "column then row" for fault in FAULTS], sep=",")
    for ranks in (1, 2, 4, 8):
        outputs = [split(x, gate, up, down, bias, ranks, fault) for fault in FAULTS]
        errors = [np.abs(output - want).max() / np.abs(want).max() for output in outputs]
        print(ranks, *["< 5e-06" if error < 5e-6 else f"{float(f'{error:.1g}'):g}" for error in errors], sep=",")
