"""The same kernels through Triton's interpreter and ours: the same bits. Each run is a process of its own."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.grader.interpreter.fuzzing import NO_BLOCK_POINTERS, version

ROOT = Path(__file__).resolve().parents[3]
needs_triton = pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="triton is not installed")


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "TRITON_INTERPRET": "1", "PYTHONWARNINGS": "ignore"}
    return subprocess.run(
        [sys.executable, "-m", *arguments], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )


@needs_triton
@pytest.mark.timeout(300)  # five seconds on an idle machine
@pytest.mark.parametrize("first", [1000, 1012])
def test_random_divergent_kernels(first: int) -> None:
    done = run("tests.grader.interpreter.fuzzing", str(first), str(first + 12))
    assert done.returncode == 0, done.stdout + done.stderr
    assert ", 0 different" in done.stdout
    assert "48 kernels" in done.stdout or version() >= NO_BLOCK_POINTERS


@needs_triton
@pytest.mark.timeout(300)
def test_every_eighth_operation() -> None:
    done = run("tests.grader.interpreter.operations", "8")
    assert done.returncode == 0, done.stdout + done.stderr
    assert ", 0 different" in done.stdout
