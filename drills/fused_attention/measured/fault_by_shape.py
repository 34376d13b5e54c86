"""Faulty kernels of this drill by queries × keys, in the CPU lane; D = 16, fp32, causal where it says so.

The error is the largest difference over the largest expected value; below 1e-05 it is rounding and not shown.
The two kernels with a wrong loop bound use tiles of 16 queries and 16 keys.
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
    "right": "correct/second_version.py",
    "top left": "mutants/top_left_alignment.py",
    "loop to the diagonal": "mutants/causal_loop_bound.py",
    "one key short": "mutants/causal_bound_one_short.py",
    "no guard": "mutants/infinite_minus_infinite.py",
    "lanes count": "mutants/phantom_zero.py",
}
SHAPES = (
    (16, 16, True),
    (1, 16, True),
    (1, 17, True),
    (15, 16, True),
    (16, 33, True),
    (17, 16, True),
    (16, 33, False),
)


def load(file):
    spec = spec_from_file_location(file.replace("/", "_").removesuffix(".py"), DRILL / file)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.attention


def exact(q, k, v, causal):
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    if causal:
        hidden = ~np.tri(q.shape[-2], k.shape[-2], k.shape[-2] - q.shape[-2], dtype=bool)
        scores = np.where(hidden, -np.inf, scores)
    top = scores.max(axis=-1, keepdims=True)
    weights = np.exp(scores - np.where(np.isneginf(top), 0, top))
    total = weights.sum(axis=-1, keepdims=True)
    return weights @ v / np.where(total > 0, total, 1)


def error(attention, inputs, causal):
    got = attention(*(torch.from_numpy(x) for x in inputs), causal).numpy()
    right = exact(*(x.astype(np.float64) for x in inputs), causal)
    worst = np.abs(got - right).max() / np.abs(right).max()
    return "NaN" if np.isnan(worst) else "< 1e-05" if worst < 1e-5 else f"{worst:.1g}"


kernels = [load(file) for file in FILES.values()]
print("shape", *FILES, sep=",")
for queries, keys, causal in SHAPES:
    drawn = attention_inputs("normal", np.random.default_rng(2), AttentionShape(1, 1, 1, queries, keys, 16), 16)
    inputs = [x.astype(np.float32) for x in drawn]
    name = f"{queries} × {keys}{' causal' if causal else ''}"
    print(name, *(error(kernel, inputs, causal) for kernel in kernels), sep=",")
