"""Attention with fp8 operands, one point of quantisation at a time: error against float64, and after each fix.

E4M3 is rounded to nearest even and saturates at 448; head dimension 64. Each row spoils one point and
leaves the rest exact. `offset`: channel 3 of K is 40 plus noise in every key. `shared`: channel 3 of Q
and of K is 15 times as large as the others. Both have 256 queries and 512 keys, standard normal but for
that; the error is in units of the score, beside that of the output. `sink`: 8,192 keys, of which key 0
scores 8 above all others; P is quantised, the error relative to the weights behind the sink. `sum of
n`: positive weights times values over n keys, added by a unit that keeps 14 bits; relative error.
"""

import numpy as np

D, UNIT, PROMOTE = 64, 32, 128


def e4m3(x):
    """Round float64 to E4M3 values: 4 significant bits, least exponent -6 (subnormals below), at most 448."""
    _, exponent = np.frexp(x)
    place = np.ldexp(1.0, np.maximum(exponent, -5) - 4)
    return np.clip(np.rint(x / place) * place, -448, 448)


def scaled(x, axis=None):
    """Quantise with one scale for the tensor, or one along an axis, that moves the largest value to 448."""
    scale = np.abs(x).max(axis=axis, keepdims=True) / 448
    return e4m3(x / scale) * scale


def rms(x):
    return np.sqrt(np.mean(np.square(x)))


def softmax(s):
    p = np.exp(s - s.max(axis=1, keepdims=True))
    return p / p.sum(axis=1, keepdims=True)


def narrow(terms, bits=14):
    """Sum along the last axis as a narrow matrix unit would: aligned to the largest, cut, 32 terms at a time."""
    total = np.zeros((*terms.shape[:-1], 1))
    for start in range(0, terms.shape[-1], UNIT):
        part = np.concatenate([total, terms[..., start : start + UNIT]], axis=-1)
        _, exponent = np.frexp(np.abs(part).max(axis=-1, keepdims=True))
        place = np.ldexp(1.0, exponent - bits)
        total = np.trunc(part / place).sum(axis=-1, keepdims=True) * place
    return total[..., 0]


def promoted(terms):
    parts = [narrow(terms[..., start : start + PROMOTE]) for start in range(0, terms.shape[-1], PROMOTE)]
    return np.sum(parts, axis=0, dtype=np.float32)


def turn(rng):
    """A random orthogonal matrix: signs, then Hadamard."""
    matrix = np.array([[1.0]])
    while len(matrix) < D:
        matrix = np.block([[matrix, matrix], [matrix, -matrix]]) / np.sqrt(2)
    return rng.choice([-1.0, 1.0], D)[:, None] * matrix


def scores(rng, data):
    q, k, v = rng.standard_normal((256, D)), rng.standard_normal((512, D)), rng.standard_normal((512, D))
    if data == "offset":
        k[:, 3] += 40
    else:
        q[:, 3], k[:, 3] = 15 * q[:, 3], 15 * k[:, 3]
    exact, turned, mean = q @ k.T / np.sqrt(D), turn(rng), k.mean(axis=0)
    ways = {
        "one scale": scaled(q) @ scaled(k).T,
        "a scale per channel of K": scaled(q) @ scaled(k, axis=0).T,
        "a scale per token": scaled(q, axis=1) @ scaled(k, axis=1).T,
        "rotated": scaled(q @ turned) @ scaled(k @ turned).T,
        "mean of K subtracted": scaled(q) @ scaled(k - mean).T + (q @ mean)[:, None],
    }
    want = softmax(exact) @ v
    for way, got in ways.items():
        got = got / np.sqrt(D)
        yield f"{data}: {way}", rms(got - exact), rms(softmax(got) @ v - want) / rms(want)


def weights(rng):
    s = rng.standard_normal((64, 8192))
    s[:, 0] = s[:, 1:].max(axis=1) + 8
    v = rng.standard_normal((8192, D)) + 1
    v[0] = 0  # as sinks do, key 0 takes weight and gives nothing
    p = np.exp(s - s.max(axis=1, keepdims=True))
    want = p @ v / p.sum(axis=1, keepdims=True)
    for factor in (1, 16, 256):
        got = e4m3(factor * p) / factor
        out = got @ v / p.sum(axis=1, keepdims=True)
        yield f"sink: P times {factor}", rms((got - p)[:, 1:]) / rms(p[:, 1:]), rms(out - want) / rms(want)


def accumulator(rng):
    for keys in (512, 2048, 4096, 8192):
        p, v = e4m3(rng.random((64, keys))), e4m3(rng.random((keys, 16)) + 0.5)
        terms = p[:, None, :] * v.T[None]
        want = terms.sum(axis=-1)
        for way, add in (("14 bits", narrow), ("emptied every 128", promoted)):
            error = rms(add(terms) - want) / rms(want)
            yield f"sum of {keys}: {way}", error, error


if __name__ == "__main__":
    print("point and fix", "error there", "error of the output", sep=",")
    rows = [*scores(np.random.default_rng(8), "offset"), *scores(np.random.default_rng(8), "shared")]
    rows += [*weights(np.random.default_rng(8)), *accumulator(np.random.default_rng(8))]
    for name, there, output in rows:
        print(name, f"{there:.2g}", f"{output:.2g}", sep=",")
