"""Bytes and touches per element against closed forms, and what the lane tells the evidence of a call."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from grader import interpreter
from tests.grader.interpreter.running import corpus, kinds, launch, recorded

F32 = 4


def traffic(record: interpreter.Recorder) -> dict[str, Any]:
    (seen,) = record.launches
    return {t.name: t for t in seen.traffic.values()}


@pytest.mark.parametrize("n", [1, 255, 256, 257, 1000])
def test_vector_add(n: int) -> None:
    x, y, out = torch.randn(n), torch.randn(n), torch.zeros(n)
    record = recorded(corpus().vector_add, ((n + 255) // 256,), x, y, out, n, BLOCK=256)
    (seen,) = record.launches
    assert seen.bytes("x") == seen.bytes("y") == (n * F32, 0, 0)
    assert seen.bytes("out") == (0, n * F32, 0)
    assert kinds(record) == []
    assert torch.equal(out, x + y)


@pytest.mark.parametrize(("rows", "cols"), [(1, 1), (3, 100), (2, 257), (5, 512)])
def test_row_softmax_loads_three_times_and_stores_once(rows: int, cols: int) -> None:
    x, out = torch.randn(rows, cols), torch.zeros(rows, cols)
    record = recorded(corpus().row_softmax, (rows,), x, out, cols, cols, BLOCK=128)
    moved = traffic(record)
    assert record.launches[0].bytes("x") == (3 * rows * cols * F32, 0, 0)
    assert (moved["x"].loads.per_element() == 3).all()
    assert (moved["out"].stores.per_element() == 1).all()
    assert torch.allclose(out, x.softmax(1))


@pytest.mark.parametrize(("m", "n", "k"), [(64, 64, 64), (50, 70, 90), (33, 1, 65)])
def test_matmul(m: int, n: int, k: int) -> None:
    a, b, c = torch.randn(m, k), torch.randn(k, n), torch.zeros(m, n)
    rows, cols = -(-m // 32), -(-n // 32)
    record = recorded(
        corpus().matmul, (rows * cols,), a, b, c, m, n, k, k, 1, n, 1, n, 1, M=32, N=32, K=32, GROUP=2
    )
    loaded_a, loaded_b = (record.launches[0].bytes(name)[0] for name in "ab")
    assert loaded_a == cols * rows * 32 * k * F32  # rows past m wrap around and are loaded again
    assert loaded_b == rows * cols * 32 * k * F32
    assert record.launches[0].bytes("c") == (0, m * n * F32, 0)
    assert traffic(record)["c"].stores.most == 1
    assert torch.allclose(c, a @ b, atol=1e-3)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("length", [1, 64, 65, 200])
def test_attention(length: int, causal: bool) -> None:
    heads, tile = 2, 32
    q, k, v = (torch.randn(heads, length, 64) for _ in range(3))
    out = torch.zeros_like(q)
    tiles = -(-length // tile)
    record = recorded(
        corpus().attention, (tiles, heads), q, k, v, out, 0.125, length * 64, 64, length, D=64, M=tile, N=32,
        CAUSAL=causal,
    )  # fmt: skip
    keys = sum(min((t + 1) * tile, length) if causal else length for t in range(tiles))
    seen = record.launches[0]
    assert seen.bytes("q") == (heads * length * 64 * F32, 0, 0)
    assert seen.bytes("k") == seen.bytes("v") == (heads * keys * 64 * F32, 0, 0)
    assert seen.bytes("out") == (0, heads * length * 64 * F32, 0)
    assert traffic(record)["k"].loads.most == tiles
    expected = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal, scale=0.125)
    assert torch.allclose(out, expected, atol=1e-5)


def test_histogram_counts_atomics() -> None:
    x, counts = torch.randint(0, 10, (1000,), dtype=torch.int32), torch.zeros(10, dtype=torch.int32)
    record = recorded(corpus().histogram, (4,), x, counts, 1000, BLOCK=256)
    assert record.launches[0].bytes("counts") == (0, 0, 1000 * F32)
    assert traffic(record)["counts"].atomics.per_element().tolist() == x.bincount(minlength=10).tolist()


def test_an_element_in_many_lanes_counts_once_a_program() -> None:
    source = """
    @triton.jit
    def kernel(x, y, B: tl.constexpr):
        i = tl.arange(0, B)
        p = tl.program_id(0)
        a = tl.load(x + i // 2)
        b = tl.load(x + (i[:, None] + i[None, :]))
        tl.store(y + p * B + i, a + tl.sum(b, axis=1))
    """
    record = launch(source, (3,), torch.randn(16), torch.zeros(24), B=8)
    counts = traffic(record)["x"].loads.per_element()
    assert counts[:4].tolist() == [6] * 4  # both loads of three programs
    assert counts[4:15].tolist() == [3] * 11
    assert counts[15] == 0


@pytest.mark.parametrize("chunk", [1, 2, None])
def test_counts_do_not_depend_on_chunks(chunk: int | None) -> None:
    x, out, at = torch.randn(6, 100), torch.zeros(6, 100), torch.randint(0, 600, (64,), dtype=torch.int32)
    source = """
    @triton.jit
    def kernel(x, at, out, n, B: tl.constexpr):
        p = tl.program_id(0)
        i = tl.arange(0, B)
        v = tl.load(x + p * n + i, mask=i < n, other=0.0)
        if p % 2 == 0:
            v += tl.load(x + tl.load(at + i))
        for k in range(p):
            v += tl.load(x + k * n + i, mask=(i < n) & (i > p), other=0.0)
        tl.store(out + p * n + i, v, mask=i < n)
    """
    record = launch(source, (6,), x, at, out, 100, B=64, options=interpreter.Options(chunk=chunk))
    expected = torch.zeros(600, dtype=torch.int64)
    for p in range(6):
        expected[p * 100 : p * 100 + 64] += 1
        if p % 2 == 0:
            expected[sorted(set(at.tolist()))] += 1
        for k in range(p):
            expected[k * 100 + p + 1 : k * 100 + 64] += 1
    assert traffic(record)["x"].loads.per_element().tolist() == expected.tolist()
    assert kinds(record) == []


# The lane: a process of its own, since it takes over `import triton` for good.

LANE = """
import torch
from grader.batched import BatchedInterpreter
from grader.evidence import Recorder
from grader.lanes import view_of

recorder, lane = Recorder(), BatchedInterpreter()
lane.install(recorder)
torch.use_deterministic_algorithms(True, warn_only=True)
torch.utils.deterministic.fill_uninitialized_memory = True
import triton
import triton.language as tl

@triton.jit
def double(x, y, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + at, tl.load(x + at, mask=at < n, other=0.0) * 2, mask=at < n)

def call(entry):
    x = torch.randn(100)
    recorder.begin([view_of(x)], [x.numpy().tobytes()])
    lane.forget()
    y = entry(x)
    launches, count, moved = recorder.finish([view_of(y)])
    return launches, {m.tensor: m for m in moved}, [f.kind for f in lane.findings]

def honest(x):
    y = torch.empty_like(x)
    double[(4,)](x, y, 100, B=32, num_warps=8)
    return y

launches, moved, findings = call(honest)
assert [(l.kernel, l.grid, l.constants, l.num_warps) for l in launches] == [("double", (4, 1, 1), {"B": 32}, 8)]
assert (moved["arg0"].loaded_bytes, moved["arg0"].loaded_elements_max) == (400, 1)
assert (moved["ret0"].stored_bytes, moved["ret0"].stored_elements_max, moved["ret0"].covered) == (400, 1, 1.0)
assert not any(m.foreign_bytes for m in moved.values()) and findings == []

def overwritten(x):
    y = honest(x)
    y[:50] = x[:50] * 2 + 1
    return y

assert call(overwritten)[1]["ret0"].covered == 0.5

def copied(x):
    y, z = torch.empty_like(x), x * 2
    double[(4,)](z, y, 100, B=32)
    return y

assert call(copied)[1]["tmp1"].foreign_bytes == 400

def zeros_first(x):
    y, z = torch.empty_like(x), torch.zeros_like(x)
    double[(4,)](z, y, 100, B=32)
    return y

assert not any(m.foreign_bytes for m in call(zeros_first)[1].values())

def partly(x):
    y = torch.empty_like(x)
    double[(2,)](x, y, 100, B=32)
    return y

assert call(partly)[1]["ret0"].covered == 0.64

@triton.jit
def accumulate(x, y, B: tl.constexpr):
    at = tl.arange(0, B)
    tl.store(y + at, tl.load(y + at) + tl.load(x + at))

def uninitialised(x):
    y = torch.empty_like(x)
    accumulate[(1,)](x, y, B=64)
    return y

assert call(uninitialised)[2] == ["uninitialised-read"]

def twice(x):
    y = honest(x)
    double[(4,)](y, y, 100, B=32)
    return y

_, moved, findings = call(twice)
ret = moved["ret0"]
assert (ret.stored_elements_max, ret.loaded_elements_max, ret.foreign_bytes) == (2, 1, 0)
assert findings == []
print("fine")
"""


def test_the_lane_feeds_the_evidence() -> None:
    root = Path(__file__).resolve().parents[3]
    script = "import linecache, sys\nname = 'lane.py'\ntext = sys.stdin.read()\n"
    script += (
        "linecache.cache[name] = (len(text), None, text.splitlines(True), name)\nexec(compile(text, name, 'exec'))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], input=LANE, cwd=root, capture_output=True, text=True, check=False
    )
    assert done.stdout.strip() == "fine", done.stderr
