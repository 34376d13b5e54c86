"""Causal masks for T new queries over S keys: what each wrong one does to the output.

Eight heads, head dimension 64, normal data, float64. The error is the largest absolute difference from the right
mask over the largest expected value; `exact` means that every element is the same.
"""

import numpy as np

HEADS, WIDTH = 8, 64


def attend(q, k, v, mask):
    """Attention of q [H, T, D] over k, v [H, S, D] under mask [T, S]. Returns [H, T, D]; no keys, zeros."""
    s = np.where(mask, q @ k.transpose(0, 2, 1) / WIDTH**0.5, -np.inf)
    m = s.max(axis=-1, keepdims=True)
    p = np.exp(s - np.where(np.isneginf(m), 0.0, m))
    return p @ v / np.maximum(p.sum(axis=-1, keepdims=True), 1e-300)


def lower_right(t, s, shift=0):
    """True where key j is at most query i + (S − T) + shift."""
    return np.arange(s) <= np.arange(t)[:, None] + s - t + shift


MASKS = {
    "aligned top left": lambda t, s: np.tri(t, s, dtype=bool),
    "one key too few": lambda t, s: lower_right(t, s, -1),
    "one key too many": lambda t, s: lower_right(t, s, +1),
    "no mask": lambda t, s: np.ones((t, s), bool),
}
CASES = {
    "prefill, 512 of 512": (512, 512),
    "decode, 1 of 513": (1, 513),
    "verify, 5 of 517": (5, 517),
    "chunk, 128 of 640": (128, 640),
    "last chunk, 37 of 549": (37, 549),
}

if __name__ == "__main__":
    print("case", *MASKS, sep=",")
    for name, (t, s) in CASES.items():
        rng = np.random.default_rng(11)
        q, k, v = (rng.standard_normal((HEADS, n, WIDTH)) for n in (t, s, s))
        want = attend(q, k, v, lower_right(t, s))
        errors = [np.abs(attend(q, k, v, mask(t, s)) - want).max() / np.abs(want).max() for mask in MASKS.values()]
        print(f'"{name}"', *["exact" if error == 0 else f"{float(f'{error:.1g}'):g}" for error in errors], sep=",")
