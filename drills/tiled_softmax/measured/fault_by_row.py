"""Faulty kernels of this drill by row, in the CPU lane: the largest relative error of a weight above 1e-30.

Rows are named by length and data; tiles are 64 wide. Below 2e-05 it is rounding, and only that is said.
"""

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np

DRILL = Path(__file__).parents[1]
sys.path.append(str(DRILL.parents[1]))
from grader import interpreter
from grader.kit import build

interpreter.install()
import torch

FILES = {
    "right": "correct/online.py",
    "no rescale": "mutants/no_rescale.py",
    "lanes read 0": "mutants/phantom_zero.py",
    "tail dropped": "mutants/last_tile_dropped.py",
    "max replaced": "mutants/max_replaced.py",
    "fp16 state": "mutants/half_state.py",
}
ROWS = (
    (64, "normal"),
    (65, "normal"),
    (65, "negative"),
    (128, "rising"),
    (193, "rising"),
    (193, "falling"),
    (320, "cliff"),
)


def load(file):
    spec = spec_from_file_location(file.replace("/", "_").removesuffix(".py"), DRILL / file)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.softmax


def error(softmax, row, exact):
    got = softmax(torch.from_numpy(row.astype(np.float32))).numpy().astype(np.float64)
    large = exact > 1e-30
    with np.errstate(all="ignore"):
        worst = np.abs(got[large] / exact[large] - 1).max()
    return "NaN" if np.isnan(worst) else "< 2e-05" if worst < 2e-5 else f"{worst:.1g}"


kernels = [load(file) for file in FILES.values()]
print("row", *FILES, sep=",")
for cols, data in ROWS:
    row = build(data, np.random.default_rng(7), (1, cols), 64).astype(np.float32).astype(np.float64)
    weights = np.exp(row - row.max())
    print(f"{cols} {data}", *(error(kernel, row, weights / weights.sum()) for kernel in kernels), sep=",")
