"""Loads of each key element by kernel and group, counted in the CPU lane: 100 keys, depth 32, 2 key heads.

The error beside it says that all of them compute the same: the largest difference over the largest value expected.
"""

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np

DRILL = Path(__file__).parents[1]
sys.path.append(str(DRILL.parents[1]))
from grader import interpreter

interpreter.install()
import torch

FILES = {
    "starter": "starter.py",
    "heads in a loop": "mutants/heads_in_a_loop.py",
    "two programs a group": "mutants/two_programs_a_group.py",
    "two passes": "mutants/two_passes.py",
    "packed": "correct/packed_rows.py",
    "split keys": "correct/split_keys.py",
}
KEYS, DEPTH, KV_HEADS = 100, 32, 2
GROUPS = (1, 3, 8)


def load(file):
    spec = spec_from_file_location(file.replace("/", "_").removesuffix(".py"), DRILL / file)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.decode


def exact(q, k, v):
    group = len(q) // len(k)
    k, v = (np.repeat(x, group, axis=0) for x in (k, v))
    scores = np.einsum("hd,hsd->hs", q, k) / np.sqrt(DEPTH)
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.einsum("hs,hsd->hd", weights, v) / weights.sum(axis=1, keepdims=True)


def run(decode, group):
    """Loads per element of k, and the error."""
    rng = np.random.default_rng(3)
    arrays = [rng.standard_normal(s) for s in ((KV_HEADS * group, DEPTH), *[(KV_HEADS, KEYS, DEPTH)] * 2)]
    arrays = [x.astype(np.float32) for x in arrays]
    recorder = interpreter.Recorder()
    interpreter.configure(recorder=recorder)
    got = decode(*(torch.from_numpy(x) for x in arrays)).numpy()
    right = exact(*(x.astype(np.float64) for x in arrays))
    loaded = sum(launch.bytes("k")[0] for launch in recorder.launches)
    return loaded / arrays[1].nbytes, np.abs(got - right).max() / np.abs(right).max()


print("kernel", *(f"group of {group}" for group in GROUPS), "error", sep=",")
for name, file in FILES.items():
    runs = [run(load(file), group) for group in GROUPS]
    worst = max(error for _, error in runs)
    print(name, *(f"{loads:g}" for loads, _ in runs), "< 1e-06" if worst < 1e-6 else f"{worst:.1g}", sep=",")
