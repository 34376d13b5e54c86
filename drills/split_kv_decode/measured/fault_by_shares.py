"""Five merges of the same shares against attention over all keys: 96 keys, depth 16, by how they are shared out.

`level` adds nothing to the scores, `apart` 6 a share. The error is the largest difference over the largest output;
below 2e-06 it is rounding.
"""

import runpy
import warnings
from itertools import pairwise
from pathlib import Path

import numpy as np

DRILL = Path(__file__).parents[1]
FILES = {
    "as it should be": "correct/two_lines_each.py",
    "mean of shares": "mutants/mean_of_shares.py",
    "largest share only": "mutants/first_share_only.py",
    "empty reports 0": "mutants/empty_reports_zero.py",
    "exp of the lse": "mutants/merge_overflows.py",
}
KEYS, DEPTH = 96, 16
warnings.simplefilter("ignore", RuntimeWarning)


def draw(step, shares, offset):
    rng = np.random.default_rng(2)
    q, k, v = rng.standard_normal(DEPTH), rng.standard_normal((KEYS, DEPTH)), rng.standard_normal((KEYS, DEPTH))
    added = offset + step * (np.arange(KEYS) * shares // KEYS)
    k += np.outer(added * np.sqrt(DEPTH) / (q @ q), q)  # adds `added` to the scores
    return [x.astype(np.float32) for x in (q, k, v)]


def error(module, arrays, cuts):
    q, k, v = arrays
    parts = [module["partial"](q, k[a:b], v[a:b]) for a, b in pairwise(cuts)]
    out = module["merge"](np.stack([part[0] for part in parts]), np.array([part[1] for part in parts], np.float32))
    exact = reference["partial"](*(x.astype(np.float64) for x in arrays))[0]
    worst = np.abs(out - exact).max() / np.abs(exact).max()
    return "NaN" if np.isnan(worst) else "< 2e-06" if worst < 2e-6 else f"{worst:.1g}"


reference = runpy.run_path(str(DRILL / "reference.py"))
modules = [runpy.run_path(str(DRILL / file)) for file in FILES.values()]
EVEN = [0, 24, 48, 72, 96]
print("shares", *FILES, sep=",")
for name, step, offset, cuts in (
    ("one", 0, 0, [0, 96]),
    ("4 level", 0, 0, EVEN),
    ("4 apart", 6, 0, EVEN),
    ("4 of 9 to 60 keys", 0, 0, [0, 60, 69, 80, 96]),
    ("3 and an empty one", 0, 0, [0, 32, 64, 96, 96]),
    ("4 level near 300", 0, 300, EVEN),
):
    print(name, *(error(module, draw(step, 4, offset), cuts) for module in modules), sep=",")
