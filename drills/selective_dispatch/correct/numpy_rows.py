"""Rows and backends as arrays: wrong cells are infinitely slow."""

import numpy as np

ROWS = ["decode one", "decode equal", "decode ragged", "chunk", "chunks ragged"]
NAMES = ["in_use", "new", "tiled"]
TIMES = np.array(
    [[55.1, 16.1, 55.6], [134.2, 99.3, 141.0], [138.3, 52.1, 144.8], [131.3, 159.3, 112.4], [170.2, 88.0, 131.9]]
)
ERRORS = np.array([[2, 2, 2], [2, 2, 2], [2, 900, 2], [2, 2, 2], [2, 700, 30]]) / 1000
USABLE = np.where(ERRORS <= 0.01, TIMES, np.inf)


def choose(shape):
    lengths = np.asarray(shape["lengths"])
    ragged = bool((lengths != lengths[0]).any())
    row = (3 + ragged) if shape["queries"] > 1 else 2 if ragged else int(len(lengths) > 1)
    return NAMES[int(USABLE[row].argmin())]


def speedup(mix):
    calls = np.array([mix.get(row, 0) for row in ROWS])
    ratio = calls @ (USABLE.min(axis=1) + 2) / (calls @ TIMES[:, 0])
    return 1 / (0.6 + 0.4 * ratio)
