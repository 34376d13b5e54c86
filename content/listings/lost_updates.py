"""A weight of 1 or 1.5 that receives 1,000 equal updates: where it ends, by how it is kept.

`bf16` adds to a bf16 weight and rounds to nearest, half to even; `bf16 stochastic` rounds up or down
with the probability that makes the mean right (mean of 200 weights); `fp32 master` adds in fp32, and
the bf16 copy that the forward pass would use is told.
"""

import numpy as np

STEPS, WEIGHTS = 1000, 200


def bf16(x, noise=None):
    """Round float64 to 8 significant bits: to nearest even, or by the noise in [0, 1)."""
    fraction, exponent = np.frexp(x)
    scaled = np.ldexp(fraction, 8)
    whole = np.rint(scaled) if noise is None else np.floor(scaled + noise)
    return np.ldexp(whole, exponent - 8)


def train(weight, update):
    rng = np.random.default_rng(3)
    nearest, stochastic, master = weight, np.full(WEIGHTS, weight), np.float32(weight)
    for _ in range(STEPS):
        nearest = bf16(nearest + update)
        stochastic = bf16(stochastic + update, rng.random(WEIGHTS))
        master = np.float32(master + np.float32(update))
    return nearest, stochastic.mean(), bf16(float(master)), weight + STEPS * update


if __name__ == "__main__":
    print("weight and update", "bf16", "bf16 stochastic", "fp32 master", "exact", sep=",")
    for weight, update in ((1.0, 1e-3), (1.0, 3e-3), (1.0, 5e-3), (1.5, 3e-3), (1.5, 5e-3)):
        ends = [f"{end:.2f}" for end in train(weight, update)]
        print(f"{weight} + {update}", *ends, sep=",")
