"""The peak of a call: what tensors held, whatever the C library keeps and libraries bring in."""

from __future__ import annotations

import subprocess
import sys

import pytest

GROWS = """
import sys
sys.path.insert(0, {root!r})
from grader import memory
memory.settle()
import numpy as np
meter = memory.Resident()
def grown(act):
    before = meter.reset_peak()
    act()
    return (meter.peak() - before) / 2**20
def strips(rows):
    for _ in range(40):
        a = np.ones((rows, 4096), np.float32); b = a * 2.0; c = b + a
        del a, b, c
for rows in (8, 16, 64, 32):
    print(grown(lambda: strips(rows)))
print(grown(lambda: np.ones(6 << 20, np.uint8)), grown(lambda: np.ones(6 << 20, np.uint8)))
"""


def test_the_same_call_grows_by_the_same_whatever_came_before() -> None:
    """Three strips live at once, of 128 KiB to 1 MiB; a freed one is not kept, so that it can't hide another."""
    from pathlib import Path

    code = GROWS.format(root=str(Path(__file__).parents[2]))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    *strips, once, again = map(float, done.stdout.split())
    for grown, rows in zip(strips, (8, 16, 64, 32), strict=True):
        assert grown == pytest.approx(3 * rows * 4096 * 4 / 2**20, abs=0.4)
    assert once == pytest.approx(6, abs=0.3) and again == pytest.approx(6, abs=0.3)


def test_pages_of_files_count_only_beyond_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    from grader import memory

    meter = memory.Resident()
    figures = {"VmRSS": 100 << 20, "RssFile": 50 << 20, "VmHWM": 0}
    monkeypatch.setattr(memory, "status_bytes", lambda *names: [figures[name] for name in names])
    assert meter.reset_peak() == 100 << 20
    assert meter.peak() == 0, "not known is not little"
    figures |= {"VmHWM": 103 << 20, "RssFile": 52 << 20}
    assert meter.peak() == 101 << 20
    figures |= {"VmHWM": 140 << 20, "RssFile": 90 << 20}  # mapped to look as if it were no memory
    assert meter.peak() == 136 << 20
