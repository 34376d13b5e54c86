"""The reference kernels against float64, in the CPU lane; on a GPU too where there is one, by the same cases."""

from __future__ import annotations

import ast
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from grader import wire
from grader.compilable import LIMITS, TARGETS
from grader.kit import half_ulp
from grader.pool import Failure, Pool
from tests.kernels.cases import KernelCase, all_cases

ROOT = Path(__file__).parents[2]
FILES = sorted(path for path in (ROOT / "kernels").glob("*.py") if path.stem != "__init__")
CASES = {f"{case.module}: {case.name}": (number, case) for number, case in enumerate(all_cases())}
WRONG: tuple[Callable[[Any], Any], ...] = (lambda a: a * (1 + 1 / 32) + 1e-3, lambda a: a * np.nan, lambda a: a[:0])
TORCH = {"torch.float32": "fp32", "torch.float16": "fp16", "torch.bfloat16": "bf16"}


def run_on(device: str, folder: Path) -> dict[str, Any]:
    out = folder / "results.npz"
    command = [sys.executable, "-m", "tests.kernels.run", device, str(out)]
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    with np.load(out) as results:
        return dict(results)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("kernels")


@pytest.fixture(scope="module")
def computed(folder: Path) -> dict[str, Any]:
    return run_on("cpu", folder)


def complaints(number: int, case: KernelCase, results: dict[str, Any]) -> list[str]:
    """What is wrong with the results of one case; an empty list when nothing is."""
    found = []
    for place, (expected, allowed) in enumerate(zip(case.expected, case.allowed, strict=True)):
        actual = results[f"{number}.{place}"]
        if actual.shape != expected.shape:
            found.append(f"result {place} has shape {actual.shape}, not {expected.shape}")
            continue
        with np.errstate(invalid="ignore"):
            error = np.where(actual == expected, 0.0, np.abs(actual - expected))
        beyond = error - half_ulp(expected, TORCH[str(results[f"{number}.{place}.type"])])
        if not (beyond <= allowed).all():
            worst = np.nanmax(beyond / allowed) if np.isfinite(beyond).any() else np.nan
            found.append(f"result {place} errs by {worst:.3g} of what is allowed; {np.isnan(actual).sum()} NaN")
    return found


@pytest.mark.parametrize("name", CASES)
def test_cpu_lane(name: str, computed: dict[str, Any]) -> None:
    assert complaints(*CASES[name], computed) == []


def test_the_comparison_refuses_what_is_slightly_wrong(computed: dict[str, Any]) -> None:
    for number, case in CASES.values():
        for wrong in WRONG:
            spoilt = {key: value if key.endswith("type") else wrong(value) for key, value in computed.items()}
            assert complaints(number, case, spoilt) != [], case.name


@pytest.mark.sandbox
@pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="triton is not installed")
def test_the_compiler_takes_every_kernel(computed: dict[str, Any], folder: Path) -> None:
    launched = msgspec.json.decode((folder / "kernels.json").read_bytes(), type=dict[str, list[wire.Kernel]])
    assert {*launched} == {path.stem for path in FILES}
    refused = []
    with Pool(framework="compiler") as pool, pool.take(replace(LIMITS, total_seconds=100.0)) as compiler:
        for path in FILES:
            source = path.read_text()
            known: set[str] = set()
            # One set of constants for each choice of types; the second target for one choice.
            for kernel in {(k.name, repr(k.signature)): k for k in launched[path.stem]}.values():
                targets = [*TARGETS[: 1 if kernel.name in known else None]]
                known.add(kernel.name)
                answer = compiler.compile(wire.Compile(id=1, source=source, kernel=kernel, targets=targets), 20.0)
                assert not isinstance(answer, Failure), answer
                assert [built.target for built in answer.built] == targets
                refused += [(path.stem, kernel, built) for built in answer.built if built.refused or built.trouble]
            assert known == set(re.findall(r"^def (\w+_kernel)\(", source, re.MULTILINE))
    assert refused == []


@pytest.mark.skipif(
    shutil.which("nvidia-smi") is None, reason="no GPU here: the same cases run on one when there is"
)
def test_gpu(tmp_path: Path) -> None:
    results = run_on("cuda", tmp_path)
    wrong = {name: found for name, case in CASES.items() if (found := complaints(*case, results))}
    assert wrong == {}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_kernel_file_introduces_itself(path: Path) -> None:
    tree = ast.parse(path.read_text())
    text = ast.get_docstring(tree) or ""
    missing = [word for word in ("What:", "Work:", "Bytes", "FLOPs", "Source") if word not in text]
    assert missing == [] or (path.stem == "row_softmax" and missing == ["Bytes"])
    assert "pays" in text or "Why two kernels" in text
    imported = {alias.name for node in tree.body if isinstance(node, ast.Import) for alias in node.names}
    assert imported == {"torch", "triton", "triton.language"}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            assert ast.get_docstring(node), f"{path.stem}.{node.name} has no docstring"


def test_every_kernel_is_run() -> None:
    assert {path.stem for path in FILES} == {case.module for _, case in CASES.values()}
