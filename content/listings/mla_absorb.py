"""Multi-head latent attention in its two forms, and what breaks their equality.

Sixteen heads of width 32 (plus 16 rotary), a latent of 96, 64 cached tokens, one query, float64. The expanded form
rebuilds keys and values of each head; the absorbed form moves the query into the latent space. The error is the
largest absolute difference from the expanded form over its largest value; below 1e-12 it is rounding.
"""

import numpy as np

HEADS, WIDTH, ROTARY, LATENT, KEYS = 16, 32, 16, 96, 64
SCALE = (WIDTH + ROTARY) ** -0.5


def softmax(s):
    p = np.exp(s - s.max(axis=-1, keepdims=True))
    return p / p.sum(axis=-1, keepdims=True)


def expanded(q, q_rot, c, k_rot, up_k, up_v):
    """q [H, D], q_rot [H, R], cache c [S, L] and k_rot [S, R], up-projections [H, L, D]. Returns [H, D]."""
    k, v = c @ up_k, c @ up_v
    s = np.einsum("hd,hsd->hs", q, k) + q_rot @ k_rot.T
    return np.einsum("hs,hsd->hd", softmax(s * SCALE), v)


def absorbed(q, q_rot, c, k_rot, up_k, up_v, scale=SCALE):
    """The same without a key or a value of any head: scores and sums over the latent."""
    q_latent = np.einsum("hd,hld->hl", q, up_k)
    s = q_latent @ c.T + q_rot @ k_rot.T
    return np.einsum("hl,hld->hd", softmax(s * scale) @ c, up_v)


if __name__ == "__main__":
    rng = np.random.default_rng(9)
    shapes = [(HEADS, WIDTH), (HEADS, ROTARY), (KEYS, LATENT), (KEYS, ROTARY), (HEADS, LATENT, WIDTH)]
    q, q_rot, c, k_rot, up_k = (rng.standard_normal(shape) for shape in shapes)
    up_k, up_v = up_k / LATENT**0.5, rng.standard_normal((HEADS, LATENT, WIDTH)) / LATENT**0.5
    want = expanded(q, q_rot, c, k_rot, up_k, up_v)
    forms = {
        "absorbed": absorbed(q, q_rot, c, k_rot, up_k, up_v),
        "scaled by the latent's width": absorbed(q, q_rot, c, k_rot, up_k, up_v, (LATENT + ROTARY) ** -0.5),
        "rotary part left out": absorbed(q, 0 * q_rot, c, k_rot, up_k, up_v),
        "value projection of the next head": absorbed(q, q_rot, c, k_rot, up_k, np.roll(up_v, 1, axis=0)),
    }
    print("form,error")
    for name, got in forms.items():
        error = np.abs(got - want).max() / np.abs(want).max()
        print(name, "< 1e-12" if error < 1e-12 else f"{float(f'{error:.1g}'):g}", sep=",")
