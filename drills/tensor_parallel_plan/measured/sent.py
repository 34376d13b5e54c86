"""Bytes that one rank sends for one token, by the number of ranks, and the same by five wrong counts."""

import runpy
from pathlib import Path

DRILL = Path(__file__).parents[1]
FILES = {
    "starter": "starter.py",
    "one all-reduce": "mutants/one_all_reduce.py",
    "gathered only": "mutants/gathered_only.py",
    "sent whole": "mutants/sent_whole.py",
    "rounded each time": "mutants/rounded_each_time.py",
}
exact = runpy.run_path(str(DRILL / "reference.py"))["bytes_sent"]
others = {name: runpy.run_path(str(DRILL / file))["bytes_sent"] for name, file in FILES.items()}
print("ranks", "bytes", *others, sep=",")
for ranks in (1, 2, 3, 4, 7, 8):
    print(ranks, exact(1, ranks), *(count(1, ranks) for count in others.values()), sep=",")
