"""A sum of n products, by the type that holds the running sum: relative error against float64.

The factors are rounded to bf16 first, so each product is exact in fp32 and every error below comes from
the accumulator. `ones` adds 1 · 1 n times, `uniform` draws both factors from [0, 1), `normal` from the
standard normal distribution; 16 sums each, and the largest error over the largest sum is told. `bf16
pairs` adds in a binary tree. `14 bits` is a model of a narrow matrix unit: 32 products at a time are
aligned with the running sum to the largest exponent among them, cut to 14 bits and added. `14 bits
promoted` adds that partial sum to an fp32 one every 128 products.
"""

import numpy as np

SUMS, STEP, PROMOTE = 16, 32, 128


def keep(x, bits):
    """Round float64 to `bits` significant bits, half to even. Exponents are not limited."""
    fraction, exponent = np.frexp(x)
    return np.ldexp(np.rint(np.ldexp(fraction, bits)), exponent - bits)


def in_order(products, bits):
    total = np.zeros(len(products))
    for column in products.T:
        total = keep(total + column, bits)
    return total


def narrow(products, bits=14):
    total = np.zeros((len(products), 1))
    for start in range(0, products.shape[1], STEP):
        terms = np.concatenate([total, products[:, start : start + STEP]], axis=1)
        _, exponent = np.frexp(np.abs(terms).max(axis=1, keepdims=True))
        place = np.ldexp(1.0, exponent - bits)  # the last place that is kept
        total = np.trunc(terms / place).sum(axis=1, keepdims=True) * place
    return total[:, 0]


def promoted(products):
    total = np.zeros(len(products))
    for start in range(0, products.shape[1], PROMOTE):
        total = keep(total + narrow(products[:, start : start + PROMOTE]), 24)
    return total


def in_pairs(products):
    while products.shape[1] > 1:
        products = keep(products[:, 0::2] + products[:, 1::2], 8)
    return products[:, 0]


ACCUMULATORS = {
    "bf16": lambda products: in_order(products, 8),
    "bf16 pairs": in_pairs,
    "fp16": lambda products: in_order(products, 11),
    "14 bits": narrow,
    "14 bits promoted": promoted,
    "fp32": lambda products: in_order(products, 24),
}


def draw(kind, length):
    rng = np.random.default_rng(10)
    if kind == "ones":
        return np.ones((SUMS, length))
    factors = rng.random((2, SUMS, length)) if kind == "uniform" else rng.standard_normal((2, SUMS, length))
    left, right = keep(factors, 8)
    return left * right


if __name__ == "__main__":
    print("products", *ACCUMULATORS, sep=",")
    for kind in ("ones", "uniform", "normal"):
        for length in (256, 4096, 16384):
            products = draw(kind, length)
            want = products.sum(axis=1)
            errors = [np.abs(add(products) - want).max() / np.abs(want).max() for add in ACCUMULATORS.values()]
            print(f"{kind} {length}", *["0" if error == 0 else f"{error:.0e}" for error in errors], sep=",")
