"""Entries of the mask that differ from the reference, for six shapes (queries × keys) and five ways to be wrong."""

import runpy
from pathlib import Path

DRILL = Path(__file__).parents[1]
SHAPES = ((4, 4), (17, 17), (1, 5), (2, 5), (64, 200), (3, 2))
FILES = {
    "starter": "starter.py",
    "decode patched": "mutants/no_mask_in_decode_only.py",
    "one too many": "mutants/one_too_many.py",
    "not itself": "mutants/strictly_before.py",
    "offset clamped": "mutants/clamped_offset.py",
}

reference = runpy.run_path(str(DRILL / "reference.py"))["visible"]
masks = {name: runpy.run_path(str(DRILL / file))["visible"] for name, file in FILES.items()}
print("shape", *masks, "entries", sep=",")
for shape in SHAPES:
    right = reference(*shape)
    wrong = [(visible(*shape) != right).sum() for visible in masks.values()]
    print("{} × {}".format(*shape), *wrong, right.size, sep=",")
