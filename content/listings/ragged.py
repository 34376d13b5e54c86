"""A new decode attention backend against the one in use: the table of the pull request, shape by shape.

One of eight GPUs of a 70B model: 8 query heads share 1 KV head of 128 channels, bf16 cache. Errors are
computed, on up to 8 sequences of the batch: the new backend does what its source says, and takes the
length of the batch's first sequence for all of them. Outputs are rounded to bf16. Times come from a
cost model of an H100 and stand for measurements: a start plus bytes over the bandwidth that each
backend reaches, or FLOPs over the rate it reaches.
"""

import numpy as np

D, HEADS, BYTES = 128, 8, 2 * 128 * 2  # channels, query heads, bytes of K and V of one token
START, W, P = 5.0, 3.35e6, 989.4e6  # microseconds, bytes and FLOPs per microsecond

RAGGED = np.tile([4096, 512, 16384, 9216, 2048, 12288, 7168, 15872], 8)
SHAPES = {
    "decode 64 x 8192": (1, np.full(64, 8192), 0.62, 0.85),
    "decode 64 x 512": (1, np.full(64, 512), 0.62, 0.85),
    "decode 64 ragged": (1, RAGGED, 0.62, 0.85),
    "decode 1 x 32768": (1, np.full(1, 32768), 0.10, 0.45),
    "chunk 2048 of 8192": (2048, np.full(1, 8192), 0.55, 0.45),
}


def bf16(x):
    fraction, exponent = np.frexp(x)
    return np.ldexp(np.rint(np.ldexp(fraction, 8)), exponent - 8)


def attend(q, k, v):
    s = q @ k.T / np.sqrt(D)
    p = np.exp(s - s.max(axis=1, keepdims=True))
    return p @ v / p.sum(axis=1, keepdims=True)


def run(rng, lengths, seen):
    """Outputs of up to 8 sequences, exact and by the backend. Old requests' keys stand behind each end."""
    want, got = [], []
    for length, taken in zip(lengths[:8], seen[:8], strict=True):
        q, (k, v) = rng.standard_normal((HEADS, D)), rng.standard_normal((2, max(length, taken), D))
        want.append(attend(q, k[:length], v[:length]))
        got.append(bf16(attend(q, k[:taken], v[:taken])))
    return np.array(want), np.array(got)


def time(queries, tokens, share):
    if queries > 1:
        return START + 4 * HEADS * D * queries * tokens / (share * P)
    return START + BYTES * tokens / (share * W)


if __name__ == "__main__":
    print("shape", "in use (µs)", "new (µs)", "mean difference", "passed at 0.05", "relative error", sep=",")
    rng = np.random.default_rng(13)
    for name, (queries, lengths, old, new) in SHAPES.items():
        seen = np.full(len(lengths), lengths[0])
        want, got = run(rng, lengths, seen)
        mean = np.abs(got - want).mean()
        relative = np.sqrt(np.square(got - want).mean() / np.square(want).mean())
        times = time(queries, lengths.sum(), old), time(queries, seen.sum(), new)
        errors = f"{mean:.1g}", "yes" if mean <= 0.05 else "no", f"{relative:.1g}"
        print(name, *[f"{each:.1f}" for each in times], *errors, sep=",")
