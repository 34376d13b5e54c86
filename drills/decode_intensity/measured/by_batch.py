"""FLOP per byte of a 14,336 × 4096 matrix by batch, beside the rule of thumb and three other ways to count."""

import runpy
from pathlib import Path

DRILL = Path(__file__).parents[1]
FILES = {
    "rule of thumb": "starter.py",
    "output forgotten": "mutants/output_forgotten.py",
    "vectors once": "mutants/batch_once.py",
    "4 B a number": "mutants/four_bytes.py",
}
exact = runpy.run_path(str(DRILL / "reference.py"))["gemm_intensity"]
others = {name: runpy.run_path(str(DRILL / file))["gemm_intensity"] for name, file in FILES.items()}
print("batch", "exact", *others, sep=",")
for batch in (1, 8, 64, 256, 1024, 4096):
    print(batch, *(f"{count(batch, 14_336, 4096):.4g}" for count in (exact, *others.values())), sep=",")
