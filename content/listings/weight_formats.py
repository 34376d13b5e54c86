"""A 512 × 512 weight matrix in seven storage formats: bits a weight, and relative errors.

`normal`: standard normal weights. `row outlier`: one input's row of weights is 30 times as large, and
the error is that of all the others. `loud input`: weights are normal, 1 input in 100 is 20 times as
large in X, and the error is that of XW. Scales are along the inputs, as in a GEMM's reduction: blocks
of 32 or 16, groups of 128, tiles of 128 × 128. E8M0 scales are powers of two by the rule of the MX
specification. `int4 g128 scaled` multiplies rows of W by a power of the input's mean size before
rounding and divides X by it, as AWQ does; the exponent is the best of 11. Error: root mean square over
root mean square.
"""

import numpy as np

N = 512
E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])


def rms(x):
    return np.sqrt(np.mean(np.square(x)))


def e4m3(x):
    _, exponent = np.frexp(x)
    place = np.ldexp(1.0, np.maximum(exponent, -5) - 4)
    return np.clip(np.rint(x / place) * place, -448, 448)


def e2m1(x):
    """The nearest of 0, 0.5, 1, 1.5, 2, 3, 4, 6 with the sign of x; ties to the one whose mantissa bit is 0."""
    place = np.where(np.abs(x) < 2, 0.5, np.where(np.abs(x) < 4, 1.0, 2.0))
    return np.clip(np.rint(x / place) * place, -6, 6)


def blocks(w, size, quantise):
    """Apply to blocks of `size` entries along the inputs (the first axis)."""
    parts = w.reshape(N // size, size, N)
    return quantise(parts, np.abs(parts).max(axis=1, keepdims=True)).reshape(N, N)


def fp8_tensor(w):
    scale = np.abs(w).max() / 448
    return e4m3(w / scale) * scale


def fp8_tiles(w):
    parts = w.reshape(4, 128, 4, 128)
    scale = np.abs(parts).max(axis=(1, 3), keepdims=True) / 448
    return (e4m3(parts / scale) * scale).reshape(N, N)


def mxfp4(w):
    def quantise(x, peak):
        scale = np.exp2(np.floor(np.log2(peak)) - 2)  # 4, the largest power of two in E2M1, is two to the 2
        return e2m1(x / scale) * scale

    return blocks(w, 32, quantise)


def nvfp4(w):
    tensor = np.abs(w).max() / (448 * 6)

    def quantise(x, peak):
        scale = e4m3(peak / 6 / tensor) * tensor
        return e2m1(x / np.where(scale > 0, scale, 1)) * scale

    return blocks(w, 16, quantise)


def int4(w, size=128):
    parts = w.reshape(N // size, size, N)
    low, high = parts.min(axis=1, keepdims=True), parts.max(axis=1, keepdims=True)
    scale = (high - low) / 15
    zero = np.rint(-low / scale)
    return ((np.clip(np.rint(parts / scale) + zero, 0, 15) - zero) * scale).reshape(N, N)


def int4_row(w):
    return int4(w, N)


def int4_scaled(w, x):
    size = np.abs(x).mean(axis=0)
    factors = [(size**power)[:, None] for power in np.arange(11) / 10]
    return min((int4(w * s) / s for s in factors), key=lambda got: rms(x @ got - x @ w))


FORMATS = {
    "fp8 per tensor": (8 + 32 / N**2, fp8_tensor),
    "fp8 tiles 128 x 128": (8 + 32 / 128**2, fp8_tiles),
    "MXFP4": (4 + 8 / 32, mxfp4),
    "NVFP4": (4 + 8 / 16, nvfp4),
    "int4 per column": (4 + 20 / N, int4_row),
    "int4 g128": (4 + 20 / 128, int4),
    "int4 g128 scaled": (4 + 20 / 128, int4_scaled),
}

if __name__ == "__main__":
    rng = np.random.default_rng(11)
    normal, x = rng.standard_normal((N, N)), rng.standard_normal((256, N))
    outlier, loud = normal.copy(), x.copy()
    outlier[7] *= 30
    loud[:, ::100] *= 20
    print("format", "bits", "normal", "row outlier", "loud input", sep=",")
    for name, (bits, store) in FORMATS.items():
        if store is int4_scaled:
            got = [store(w, z) for w, z in ((normal, x), (outlier, x), (normal, loud))]
        else:
            got = [store(w) for w in (normal, outlier, normal)]
        errors = [rms(got[0] - normal) / rms(normal), rms(np.delete(got[1] - outlier, 7, 0)) / rms(normal)]
        errors.append(rms(loud @ (got[2] - normal)) / rms(loud @ normal))
        print(name, f"{bits:.3f}", *[f"{100 * error:.1f} %" for error in errors], sep=",")
