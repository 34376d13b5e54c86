"""The gain of a step by mix of traffic: right, and as five ways of adding up would have it. Below 1 is a loss."""

import runpy
from pathlib import Path

DRILL = Path(__file__).parents[1]
MIXES = {
    "single decodes": {"decode one": 100},
    "equal decodes": {"decode equal": 100},
    "ragged decodes": {"decode ragged": 100},
    "ragged chunks": {"chunks ragged": 100},
    "300 equal + 100 chunks": {"decode equal": 300, "chunk": 100},
    "90 ragged + 10 single": {"decode ragged": 90, "decode one": 10},
}
FILES = {
    "as proposed": "starter.py",
    "wrong rows too": "mutants/as_proposed.py",
    "attention only": "mutants/attention_only.py",
    "calls ignored": "mutants/calls_ignored.py",
    "choosing is free": "mutants/choosing_is_free.py",
}
right = runpy.run_path(str(DRILL / "reference.py"))["speedup"]
others = [runpy.run_path(str(DRILL / file))["speedup"] for file in FILES.values()]
print("mix", "right", *FILES, sep=",")
for name, mix in MIXES.items():
    print(name, *(f"{gain(mix):.3f}" for gain in (right, *others)), sep=",")
