"""Attention with a KV cache, fed in different portions: which portions expose which fault.

24 tokens, eight query heads on two KV heads, head dimension 16, rotary positions, float64. Every schedule of
portions is compared with one pass over all tokens by a right implementation. The error is the largest absolute
difference over the largest expected value; below 1e-12 it is rounding, and only that is said.
"""

import numpy as np

TOKENS, QUERY_HEADS, KV_HEADS, WIDTH = 24, 8, 2, 16


def rotate(x, positions):
    """Rotary embedding of x [H, T, D] at positions [T]."""
    half = WIDTH // 2
    angle = positions[:, None] * 100.0 ** (-np.arange(half) / half)
    a, b = x[..., :half], x[..., half:]
    return np.concatenate([a * np.cos(angle) - b * np.sin(angle), a * np.sin(angle) + b * np.cos(angle)], axis=-1)


def attend(q, k, v, k_cache, v_cache, cached, fault=""):
    """New q [Hq, T, D] and k, v [Hkv, T, D] after `cached` tokens; writes the caches. Returns [Hq, T, D]."""
    new = q.shape[1]
    positions = np.arange(new) + (0 if fault == "position restarts" else cached)
    slot = cached - 1 if fault == "slot one too low" and cached else cached
    k_cache[:, slot : slot + new] = rotate(k, positions)
    v_cache[:, slot : slot + new] = v
    keys = cached + new
    heads = np.arange(QUERY_HEADS)
    own = heads % KV_HEADS if fault == "head map h mod Hkv" else heads // (QUERY_HEADS // KV_HEADS)
    s = rotate(q, positions) @ k_cache[own, :keys].transpose(0, 2, 1) / WIDTH**0.5
    shift = 0 if fault == "mask top left" else keys - new
    s = np.where(np.arange(keys) <= np.arange(new)[:, None] + shift, s, -np.inf)
    p = np.exp(s - s.max(axis=-1, keepdims=True))
    return p @ v_cache[own, :keys] / p.sum(axis=-1, keepdims=True)


def run(data, portions, fault=""):
    q, k, v = data
    caches = [np.zeros((KV_HEADS, TOKENS, WIDTH)) for _ in range(2)]
    outputs, cached = [], 0
    for new in portions:
        part = slice(cached, cached + new)
        outputs.append(attend(q[:, part], k[:, part], v[:, part], *caches, cached, fault))
        cached += new
    return np.concatenate(outputs, axis=1)


FAULTS = ["", "mask top left", "slot one too low", "position restarts", "head map h mod Hkv"]
PORTIONS = {
    "24": [24],
    "23 + 1": [23, 1],
    "12 + 12": [12, 12],
    "8 + 4 + 12": [8, 4, 12],
    "24 times 1": [1] * 24,
}

if __name__ == "__main__":
    rng = np.random.default_rng(5)
    data = [rng.standard_normal((h, TOKENS, WIDTH)) for h in (QUERY_HEADS, KV_HEADS, KV_HEADS)]
    want = run(data, [TOKENS])
    print("portions", *[fault or "right" for fault in FAULTS], sep=",")
    for name, portions in PORTIONS.items():
        errors = [np.abs(run(data, portions, fault) - want).max() / np.abs(want).max() for fault in FAULTS]
        print(name, *["< 1e-12" if error < 1e-12 else f"{float(f'{error:.1g}'):g}" for error in errors], sep=",")
