"""Where attention and rms_norm stand among the eleven, by batch, for 64 query heads and 8 KV heads; and where two
faults put attention.
"""

import runpy
from pathlib import Path

DRILL = Path(__file__).parents[1]
CONFIG = {"num_attention_heads": 64, "num_key_value_heads": 8}
FILES = {"flips too late": "mutants/flips_too_late.py", "activations counted": "mutants/activations_counted.py"}

right = runpy.run_path(str(DRILL / "reference.py"))["ranking"]
others = [runpy.run_path(str(DRILL / file))["ranking"] for file in FILES.values()]
print("batch", "attention", "rms_norm", "qkv_proj", *FILES, sep=",")
for batch in (1, 2, 7, 8, 9, 64):
    names = right(batch, CONFIG)
    places = [names.index(name) + 1 for name in ("attention", "rms_norm", "qkv_proj")]
    wrong = [ranking(batch, CONFIG).index("attention") + 1 for ranking in others]
    print(batch, *places, *wrong, sep=",")
