"""Four ways to update the state, against float64, after 1, 2, 4 and 16 tiles of 16 keys.

The files are those of this drill. Scores are standard normal; `rising` adds 2 a tile, `falling` takes 2 away. The
error is the largest absolute difference of `out` over the largest |out|; below 2e-06 it is rounding and not shown.
"""

import runpy
from pathlib import Path

import numpy as np

DRILL = Path(__file__).parents[1]
FILES = {
    "as it should be": "correct/guarded_base.py",
    "acc not rescaled": "mutants/acc_not_rescaled.py",
    "neither rescaled": "mutants/no_rescale.py",
    "acc in float16": "mutants/half_state.py",
}
ROWS, KEYS, WIDTH = 8, 16, 16


def run(module, tiles, dtype):
    m = np.full(ROWS, -np.inf, dtype)
    l, acc = np.zeros(ROWS, dtype), np.zeros((ROWS, WIDTH), dtype)
    for scores, values in tiles:
        m, l, acc = module["update"](m, l, acc, scores.astype(dtype), values.astype(dtype))
    return np.asarray(module["finish"](m, l, acc), np.float64)


def draw(step, count):
    rng = np.random.default_rng(5)
    shapes = (ROWS, KEYS), (KEYS, WIDTH)
    pairs = [[rng.standard_normal(shape).astype(np.float32) for shape in shapes] for _ in range(count)]
    return [(scores + np.float32(step * n), values) for n, (scores, values) in enumerate(pairs)]


def said(error):
    return "< 2e-06" if error < 2e-6 else f"{error:.1g}"


reference = runpy.run_path(str(DRILL / "reference.py"))
modules = {name: runpy.run_path(str(DRILL / file)) for name, file in FILES.items()}
print("scores and tiles", *modules, sep=",")
for order, step in (("falling", -2.0), ("rising", 2.0)):
    for count in (1, 2, 4, 16):
        tiles = draw(step, count)
        exact = run(reference, tiles, np.float64)
        outputs = [run(each, tiles, np.float32) for each in modules.values()]
        errors = [np.abs(output - exact).max() / np.abs(exact).max() for output in outputs]
        print(f"{order} {count}", *map(said, errors), sep=",")
