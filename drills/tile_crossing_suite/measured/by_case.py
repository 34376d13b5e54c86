"""The three cases of `correct/three_cases.py` one by one, on data that never changes: what each needs and catches.

`rounding` is the largest error of the correct kernels, `caught` how many of the 25 faulty ones the case refuses,
`alone` how many of these no other one refuses. `least fault` is the smallest error of a kernel that it refuses.
"""

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from runpy import run_path

import numpy as np

DRILL = Path(__file__).parents[1]
sys.path.append(str(DRILL.parents[1]))


def load():
    spec = spec_from_file_location("tile_crossing_suite", DRILL / "suite.py")
    module = sys.modules[spec.name] = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def error(kernel, given, wanted):
    with np.errstate(all="ignore"):
        return np.abs(kernel(*given) - wanted).max()


suite = load()
cases = suite.planned(run_path(str(DRILL / "correct" / "three_cases.py"))["cases"]())
rows, caught = [], []
for number, case in enumerate(cases):
    given = suite.inputs(case.data, np.random.default_rng([0, number]), case.q_len, case.kv_len)
    wanted = suite.exact(*given)
    faults = np.array([error(kernel, given, wanted) for kernel in suite.FAULTY])
    refused = ~(faults <= case.tolerance)
    rows.append((case, max(error(kernel, given, wanted) for kernel in suite.CORRECT), np.nanmin(faults[refused])))
    caught.append(refused)
print("case,cost,rounding,least fault,caught,alone")
for number, (case, rounding, least) in enumerate(rows):
    others = np.any([refused for n, refused in enumerate(caught) if n != number], axis=0)
    alone = (caught[number] & ~others).sum()
    name = f"{case.q_len} × {case.kv_len} {case.data}"
    print(name, case.cost, f"{rounding:.0g}", f"{least:.0g}", caught[number].sum(), alone, sep=",")
