"""The benchmark of the kernels: it compares before it times, in the CPU lane too, and what is wrong has no time."""

from __future__ import annotations

import math
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "scripts" / "bench" / "kernels.py"


class Array(np.ndarray[Any, Any]):
    """A NumPy array with the two methods of tensors that the comparison asks for."""

    def double(self) -> Array:
        return self.astype(np.float64).view(Array)

    def abs(self) -> Array:
        return np.abs(self).view(Array)


def array(*values: float) -> Array:
    return np.array(values, dtype=np.float32).view(Array)


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    spec = spec_from_file_location("kernels_bench", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "kernels_bench", module)
    spec.loader.exec_module(module)
    return module


def test_all_kernels_agree_with_torch_at_small_sizes() -> None:
    done = subprocess.run(
        [sys.executable, SCRIPT, "--check"], capture_output=True, text=True, check=False, timeout=100
    )
    assert done.returncode == 0, done.stdout + done.stderr
    rows = [line for line in done.stdout.splitlines() if line.startswith("  ")]
    assert len(rows) == 15
    assert "WRONG" not in done.stdout


def test_what_is_wrong_is_not_timed(bench: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    right, wrong, nothing = array(1.0, 2.0), array(1.0, 2.1), array(1.0, math.nan)
    kernels = {"right": lambda: right, "wrong": lambda: wrong, "nan": lambda: nothing}
    contest = bench.Contest("two numbers", kernels, "peer", lambda: right)
    monkeypatch.setattr(bench, "contests", lambda *_: [contest])
    monkeypatch.setattr(bench.importlib, "import_module", lambda _: SimpleNamespace())
    rows = {row.kernel: row for row in bench.measure("cpu", bench.SMALL, lambda call: 0.5)}
    assert rows["right"].seconds == 0.5
    assert rows["wrong"].seconds is None
    assert rows["nan"].seconds is None
    assert math.isnan(rows["nan"].error)
