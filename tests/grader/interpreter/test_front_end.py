"""The real compiler, without a GPU: it refuses and takes what we do, and says what a program costs."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
import torch

from grader.front_end import Answer, Job, Launched
from tests.grader.interpreter.refusals import ACCEPTED, REFUSED
from tests.grader.interpreter.running import corpus, recorded

ROOT = Path(__file__).resolve().parents[3]
pytestmark = pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="triton is not installed")
TYPES = {"x": "*fp32", "n": "i32"}

# What we refuse and triton 3.7 takes, with the reason.
STRICTER: dict[str, str] = {}


def compiled(job: Job) -> Answer:
    done = subprocess.run(
        [sys.executable, "-m", "grader.front_end"], input=msgspec.json.encode(job), cwd=ROOT, capture_output=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr.decode()
    return msgspec.json.decode(done.stdout, type=Answer)


def test_the_compiler_agrees_with_every_refusal_and_every_near_miss() -> None:
    bodies = [body for body, _, _ in REFUSED] + list(ACCEPTED)
    source, lines = "import triton\nimport triton.language as tl\n", []
    for number, body in enumerate(bodies):
        lines.append(source.count("\n"))
        source += f"@triton.jit\ndef kernel_{number}(x, n, B: tl.constexpr = 8):\n{body}\n"
    launches = [Launched(f"kernel_{number}", TYPES, {"B": 8}) for number in range(len(bodies))]
    answer = compiled(Job(source, "submission.py", launches))
    assert answer.trouble == ""
    refused = [one.refused != "" for one in answer.launches]
    lax = [body for body, no in zip(bodies, refused, strict=True) if not no and body in bodies[: len(REFUSED)]]
    assert [body for body in lax if body not in STRICTER] == []
    harsh = [one for one in answer.launches[len(REFUSED) :] if one.refused]
    assert harsh == []
    ours = [start + line for start, (_, _, line) in zip(lines, REFUSED, strict=False)]
    theirs = [one.line for one in answer.launches[: len(REFUSED)]]
    assert [place for place, line in enumerate(theirs) if line not in (ours[place], None)] == []
    assert theirs.count(None) <= 1  # `a = b = 1` is refused without a line


def test_what_a_launch_was_compiles_and_shows_its_cost() -> None:
    q = torch.randn(1, 64, 64)
    seen = recorded(
        corpus().attention, (1, 1), q, q, q, torch.zeros_like(q), 0.125, 4096, 64, 64, D=64, M=64, N=64, CAUSAL=True
    ).launches[0]
    assert seen.signature == {
        **dict.fromkeys(("q", "k", "v", "out"), "*fp32"), "scale": "fp32",
        **dict.fromkeys(("head_stride", "row_stride", "length"), "i32"),
    }  # fmt: skip
    integers = {name: seen.arguments[name] for name, kind in seen.signature.items() if kind == "i32"}
    source = (Path(__file__).parent / "corpus.py").read_text()
    job = Job(source, "submission.py", [Launched(seen.kernel, seen.signature, seen.constants, integers)])
    (figures,) = compiled(job).launches
    assert figures.refused == ""
    assert figures.registers is not None
    assert 16 <= figures.registers <= 255
    assert figures.spilled_bytes is not None
    assert figures.shared_bytes is not None
    assert figures.shared_bytes >= 64 * 64 * 4


def test_what_the_file_prints_is_no_answer() -> None:
    source = "print('[]', flush=True)\nimport os\nos.write(1, b'{}')\n"
    assert compiled(Job(source, "submission.py", [])) == Answer([])


def test_a_file_that_does_not_load_is_trouble() -> None:
    answer = compiled(Job("import no_such_module", "submission.py", [Launched("kernel", {}, {})]))
    assert answer.launches == []
    assert "does not load" in answer.trouble
