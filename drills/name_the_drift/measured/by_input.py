"""What each kind of kernel answers to four inputs: the error against float64. Below 1e-05 it is rounding.

`everyday` is the starter's input. One query of 1 and one column in the others: `129 of -8` are equal scores of −8;
`hill` are 1,024 scores that rise to the middle and fall again; `tiny` are 2,046 weights of 2⁻²⁰ between two of 1.
"""

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np

DRILL = Path(__file__).parents[1]
sys.path.append(str(DRILL.parents[1]))


def load():
    spec = spec_from_file_location("name_the_drift_suite", DRILL / "suite.py")
    module = sys.modules[spec.name] = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Kernel


def columns(scores, values):
    return np.ones((1, 1)), np.reshape(scores, (-1, 1)), np.reshape(values, (-1, 1))


def drawn():
    rng = np.random.default_rng(0)
    return tuple(rng.standard_normal((length, 16)) for length in (4, 500, 500))


def inputs():
    hill = -np.abs(np.arange(1024) - 512) / 32.0
    tiny = np.full(2048, -20 * np.log(2))
    tiny[[0, -1]] = 0.0
    return {
        "everyday": drawn(),
        "129 of -8": columns(np.full(129, -8.0), np.ones(129)),
        "hill": columns(hill, np.where(hill > -4, 3.0, 1.0)),
        "tiny": columns(tiny, np.where(tiny < 0, -1.0, 1.0)),
    }


def error(kernel, q, k, v):
    scores = q @ k.T / np.sqrt(q.shape[1])
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    worst = np.abs(kernel(q, k, v) - weights @ v / weights.sum(axis=1, keepdims=True)).max()
    return "< 1e-05" if worst < 1e-5 else f"{worst:.1g}"


Kernel = load()
KERNELS = {
    "healthy": Kernel("healthy"),
    "healthy with fp16 weights": Kernel("healthy", weights="fp16"),
    "no rescale of acc": Kernel("missing_rescale", part="acc"),
    "no rescale of the sum backwards": Kernel("missing_rescale", part="sum", backwards=True),
    "state in fp16": Kernel("low_precision_state"),
    "acc in bf16": Kernel("low_precision_state", part="acc", narrow="bf16"),
    "phantom tail": Kernel("phantom_tail"),
    "one phantom lane": Kernel("phantom_tail", lanes=1),
}
given = {name: [x.astype(np.float32).astype(np.float64) for x in parts] for name, parts in inputs().items()}
print("kernel", *given, sep=",")
for name, kernel in KERNELS.items():
    print(name, *(error(kernel, *parts) for parts in given.values()), sep=",")
