"""Error of each remedy over that of plain quantisation, with the files of this drill; below 0.333 passes.

256 tokens, 64 dimensions, four channels of k with an offset of 80 to 140.
"""

import runpy
import sys
from pathlib import Path

import numpy as np

DRILL = Path(__file__).parents[1]
sys.path.append(str(DRILL.parents[1] / "grader"))
FILES = {
    "plain": "mutants/plain.py",
    "scale per channel": "mutants/scale_per_channel.py",
    "scale per token": "mutants/scale_per_token.py",
    "rotated": "mutants/rotated_only.py",
    "centred": "correct/centred_keys.py",
    "centred + scales": "correct/scales_and_powers.py",
    "centred + rotated": "correct/centred_and_rotated.py",
}


def draw():
    rng = np.random.default_rng(8)
    q, k, v = rng.standard_normal((3, 256, 64))
    channels = rng.choice(64, 4, replace=False)
    k[:, channels] = rng.uniform(80, 140, 4) * rng.choice([-1, 1], 4) + 3 * k[:, channels]
    return [x.astype(np.float32) for x in (q, k, v)]


arrays = draw()
exact = runpy.run_path(str(DRILL / "reference.py"))["attention_fp8"](*(x.astype(np.float64) for x in arrays))
outputs = [runpy.run_path(str(DRILL / file))["attention_fp8"](*arrays) for file in FILES.values()]
errors = [np.sqrt(((out - exact) ** 2).mean()) for out in outputs]
print("remedy,error")
for name, error in zip(FILES, errors, strict=True):
    print(name, f"{error / errors[0]:.2f}", sep=",")
