"""What seven suites are worth on data that never changes: faulty kernels caught of 25, false alarms of 5, cost."""

import runpy
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np

DRILL = Path(__file__).parents[1]
sys.path.append(str(DRILL.parents[1]))
FILES = {
    "starter": "starter.py",
    "squares only": "mutants/squares_only.py",
    "whole tiles only": "mutants/whole_tiles_only.py",
    "everyday data": "mutants/everyday_data.py",
    "tolerance of 1e-2": "mutants/tolerance_of_a_hundredth.py",
    "tolerance of nothing": "mutants/tolerance_of_nothing.py",
    "three cases": "correct/three_cases.py",
}


def load():
    spec = spec_from_file_location("tile_crossing_suite", DRILL / "suite.py")
    module = sys.modules[spec.name] = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


suite = load()
print("suite,caught,alarms,cost")
for name, file in FILES.items():
    cases = suite.planned(runpy.run_path(str(DRILL / file))["cases"]())
    report = suite.judged(
        cases, sum(case.cost for case in cases), lambda number: np.random.default_rng([0, number])
    )
    alarms = sum(not mark.ok for mark in report.marks if mark.group == "Correct kernels")
    caught = sum(mark.ok for mark in report.marks if mark.group == "Faulty kernels")
    print(name, caught, alarms, sum(case.cost for case in cases), sep=",")
