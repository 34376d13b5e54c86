"""The starter and four suspects, in the CPU lane, by order of the scores and number of keys: tiles of 16 keys.

Two heads, 16 queries, D = 32, fp32. The error is the largest difference over the largest expected value; below
1e-05 it is rounding, and only that is said.
"""

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np

DRILL = Path(__file__).parents[1]
sys.path.append(str(DRILL.parents[1]))
from grader import interpreter
from grader.kit import AttentionShape, attention_inputs

interpreter.install()
import torch

FILES = {
    "starter": "starter.py",
    "sum instead": "mutants/sum_not_rescaled.py",
    "fp16 acc": "mutants/half_state.py",
    "lanes count": "mutants/phantom_zero.py",
    "mended": "correct/divided_in_every_tile.py",
}
LENGTHS = (16, 17, 32, 128, 512)


def load(file):
    spec = spec_from_file_location(file.replace("/", "_").removesuffix(".py"), DRILL / file)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.attention


def exact(q, k, v):
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights @ v / weights.sum(axis=-1, keepdims=True)


def error(attention, inputs):
    got = attention(*(torch.from_numpy(x) for x in inputs)).numpy()
    right = exact(*(x.astype(np.float64) for x in inputs))
    worst = np.abs(got - right).max() / np.abs(right).max()
    return "NaN" if np.isnan(worst) else "< 1e-05" if worst < 1e-5 else f"{worst:.2g}"


kernels = [load(file) for file in FILES.values()]
print("scores and keys", *FILES, sep=",")
for data in ("rising", "falling", "constant"):
    for keys in LENGTHS:
        drawn = attention_inputs(data, np.random.default_rng(1), AttentionShape(1, 2, 2, 16, keys, 32), 16)
        inputs = [x.astype(np.float32) for x in drawn]
        print(f"{data} {keys}", *(error(kernel, inputs) for kernel in kernels), sep=",")
