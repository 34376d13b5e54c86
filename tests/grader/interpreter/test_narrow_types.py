"""bf16 and fp8 against torch: every operation is computed in fp32 and rounded once to its type."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch

from grader.interpreter import dtypes
from tests.grader.interpreter.running import launch

Torch = torch.Tensor

CONVERT = """
@triton.jit
def kernel(x, out, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(out + i, tl.load(x + i).to(out.dtype.element_ty))
"""
BINARY = """
@triton.jit
def kernel(x, y, out, B: tl.constexpr):
    i = tl.arange(0, B)
    a, b = tl.load(x + i), tl.load(y + i)
    r = {expression}
    tl.static_assert(r.dtype == tl.{result})
    tl.store(out + i, r.to(out.dtype.element_ty))
"""


def given(dtype: torch.dtype, count: int = 256) -> tuple[Torch, Torch]:
    generator = torch.Generator().manual_seed(3)
    scale = torch.logspace(-3, 2, count)
    x = (torch.randn(count, generator=generator) * scale).to(dtype)
    y = torch.randn(count, generator=generator).to(dtype)
    return x, y


def same_bits(a: Torch, b: Torch) -> bool:
    return bool(((a == b) | (a.isnan() & b.isnan())).all())


@pytest.mark.parametrize(
    ("expression", "result", "expected"),
    [
        ("a + b", "bfloat16", lambda a, b: a + b),
        ("a - b", "bfloat16", lambda a, b: a - b),
        ("a * b", "bfloat16", lambda a, b: a * b),
        ("a + 1", "bfloat16", lambda a, b: a + 1),
        ("a * 0.1", "bfloat16", lambda a, b: a * torch.tensor(0.1, dtype=torch.bfloat16)),
        ("-a", "bfloat16", lambda a, b: -a),
        ("tl.abs(a)", "bfloat16", lambda a, b: a.abs()),
        ("tl.maximum(a, b)", "bfloat16", torch.fmax),
        ("tl.minimum(a, b)", "bfloat16", torch.fmin),
        ("tl.where(a > b, a, b)", "bfloat16", lambda a, b: torch.where(a > b, a, b)),
        ("a / b", "float32", lambda a, b: a.float() / b.float()),
        ("a.to(tl.float32) * b", "float32", lambda a, b: a.float() * b.float()),
        ("a + b.to(tl.float16)", "float16", lambda a, b: a.half() + b.half()),
        ("a < b", "int1", lambda a, b: (a < b).float()),
        ("tl.fma(a, b, a)", "bfloat16", lambda a, b: (a.double() * b.double() + a.double()).bfloat16()),
    ],
)
def test_bf16(expression: str, result: str, expected: Callable[[Torch, Torch], Torch]) -> None:
    x, y = given(torch.bfloat16)
    out = torch.zeros(256)
    launch(BINARY.format(expression=expression, result=result), (1,), x, y, out, B=256)
    assert same_bits(out, expected(x, y).float())


@pytest.mark.parametrize(("dtype", "next_to_one"), [(torch.float32, 2.0**-23), (torch.float16, 2.0**-10)])
def test_fma_rounds_once(dtype: torch.dtype, next_to_one: float) -> None:
    """(1 + u)² is 1 + 2u + u²: what a product rounded by itself loses is all that the sum leaves."""
    x = torch.full((256,), 1 + next_to_one, dtype=dtype)
    y = -(x * x)
    source = """
    @triton.jit
    def kernel(x, y, out, B: tl.constexpr):
        i = tl.arange(0, B)
        a = tl.load(x + i)
        tl.store(out + i, tl.fma(a, a, tl.load(y + i)).to(tl.float32))
    """
    out = torch.zeros(256)
    launch(source, (1,), x, y, out, B=256)
    assert (out == next_to_one**2).all()


def test_fma_is_not_rounded_to_fp64_in_between() -> None:
    """(1 + u)(1 − u) + 2²⁴ + 2 lies 2⁻⁴⁶ below the middle of two neighbours; fp64 has no room for that."""
    x, y = torch.full((256,), 1 + 2.0**-23), torch.full((256,), 1 - 2.0**-23)
    out = torch.zeros(256)
    expression = "tl.fma(a, b, tl.full([B], 16777218.0, tl.float32))"
    launch(BINARY.format(expression=expression, result="float32"), (1,), x, y, out, B=256)
    assert (out == 16777218.0).all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.float64])
def test_rounding_to_bf16(dtype: torch.dtype) -> None:
    x = torch.cat(
        [given(dtype)[0], torch.tensor([0.0, -0.0, 1e38, 3.4e38, float("inf"), float("nan"), 1e-40]).to(dtype)]
    )
    x = torch.cat([x, torch.zeros(512 - len(x), dtype=dtype)])
    out = torch.zeros(512, dtype=torch.bfloat16)
    launch(CONVERT, (1,), x, out, B=512)
    assert same_bits(out.float(), x.float().bfloat16().float())


def test_every_bf16_value_goes_through_unchanged() -> None:
    bits = np.arange(1 << 16, dtype=np.uint32).astype(np.uint16)
    held = dtypes.decode_bf16(bits)
    real = ~np.isnan(held)
    assert (dtypes.encode_bf16(dtypes.round_bf16(held))[real] == bits[real]).all()
    assert np.isnan(dtypes.round_bf16(held)[~real]).all()


@pytest.mark.parametrize("shape", [(16, 16, 16), (32, 16, 64), (64, 64, 32)])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2])
def test_dot(shape: tuple[int, int, int], dtype: torch.dtype) -> None:
    m, n, k = shape
    k = max(k, 32)
    source = """
    @triton.jit
    def kernel(x, y, out, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
        m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
        a = tl.load(x + m[:, None] * K + k[None, :])
        b = tl.load(y + k[:, None] * N + n[None, :])
        tl.store(out + m[:, None] * N + n[None, :], tl.dot(a, b))
    """
    x, y, out = torch.randn(m, k).to(dtype), torch.randn(k, n).to(dtype), torch.zeros(m, n)
    launch(source, (1,), x, y, out, M=m, N=n, K=k)
    exact = x.double() @ y.double()
    assert ((out - exact).abs() <= 1e-6 * (x.double().abs() @ y.double().abs())).all()


@pytest.mark.parametrize(
    ("reduction", "expected"),
    [("tl.max(a, axis=1)", lambda a: a.float().amax(1)), ("tl.min(a, axis=1)", lambda a: a.float().amin(1))],
)
def test_extremes_of_bf16_come_in_fp32(reduction: str, expected: Callable[[Torch], Torch]) -> None:
    source = f"""
    @triton.jit
    def kernel(x, out, M: tl.constexpr, N: tl.constexpr):
        a = tl.load(x + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :])
        r = {reduction}
        tl.static_assert(r.dtype == tl.float32)
        tl.store(out + tl.arange(0, M), r)
    """
    x, out = torch.randn(8, 32).bfloat16(), torch.zeros(8)
    launch(source, (1,), x, out, M=8, N=32)
    assert torch.equal(out, expected(x))


def test_sum_of_bf16_rounds_every_addition() -> None:
    source = """
    @triton.jit
    def kernel(x, out, N: tl.constexpr):
        r = tl.sum(tl.load(x + tl.arange(0, N)), axis=0)
        tl.static_assert(r.dtype == tl.bfloat16)
        tl.store(out, r)
    """
    x, out = torch.rand(1024).bfloat16(), torch.zeros(1)
    launch(source, (1,), x, out, N=1024)
    tree = x
    while len(tree) > 1:
        tree = tree[: len(tree) // 2] + tree[len(tree) // 2 :]
    assert out.item() == tree.item()
    assert out.item() != x.double().sum().item()


@pytest.mark.parametrize("dtype", [torch.float8_e4m3fn, torch.float8_e5m2])
def test_fp8_values_decode_as_torch_says(dtype: torch.dtype) -> None:
    bits = torch.arange(256, dtype=torch.uint8)
    source = """
    @triton.jit
    def kernel(x, out, B: tl.constexpr):
        i = tl.arange(0, B)
        tl.store(out + i, tl.load(x + i).to(tl.float32))
    """
    out = torch.zeros(256)
    launch(source, (1,), bits.view(dtype), out, B=256)
    assert same_bits(out, bits.view(dtype).float())


@pytest.mark.parametrize(("dtype", "largest"), [(torch.float8_e4m3fn, 448.0), (torch.float8_e5m2, 57344.0)])
@pytest.mark.parametrize("source_type", [torch.float32, torch.float16, torch.bfloat16])
def test_rounding_to_fp8(dtype: torch.dtype, largest: float, source_type: torch.dtype) -> None:
    """As torch within range, ties included; saturating beyond it, as the hardware's conversions do."""
    every = torch.arange(256, dtype=torch.uint8).view(dtype).float()
    finite = torch.from_numpy(np.unique(every[every.isfinite()].numpy()))
    middles = (finite[1:] + finite[:-1]) / 2
    x = torch.cat([finite, middles, torch.randn(1024) * 10]).to(source_type)
    x = x[x.float().abs() <= largest]
    x = torch.cat([x, torch.zeros(2048 - len(x), dtype=source_type)])
    out = torch.zeros(2048, dtype=torch.uint8).view(dtype)
    launch(CONVERT, (1,), x, out, B=2048)
    assert same_bits(out.float(), x.float().to(dtype).float())
    beyond = torch.tensor([1e6, -1e6, float("nan"), largest * 1.01] * 4)
    out = torch.zeros(16, dtype=torch.uint8).view(dtype)
    launch(CONVERT, (1,), beyond, out, B=16)
    assert out.float()[:2].tolist() == [largest, -largest]
    assert out.float()[2].isnan()
    assert out.float()[3] == largest


def test_rounding_towards_zero() -> None:
    source = """
    @triton.jit
    def kernel(x, out, B: tl.constexpr):
        i = tl.arange(0, B)
        tl.store(out + i, tl.load(x + i).to(out.dtype.element_ty, fp_downcast_rounding="rtz"))
    """
    x = torch.randn(256)
    for dtype in (torch.bfloat16, torch.float16):
        out = torch.zeros(256, dtype=dtype)
        launch(source, (1,), x, out, B=256)
        assert (out.float().abs() <= x.abs()).all()
        assert ((out.float() - x).abs() <= x.abs() * 2.0 ** (-7 if dtype is torch.bfloat16 else -10)).all()


def test_tf32_on_request() -> None:
    from grader import interpreter

    source = """
    @triton.jit
    def kernel(x, y, out, B: tl.constexpr, HOW: tl.constexpr):
        i = tl.arange(0, B)[:, None] * B + tl.arange(0, B)[None, :]
        tl.store(out + i, tl.dot(tl.load(x + i), tl.load(y + i), input_precision=HOW))
    """
    x, y = torch.randn(64, 64), torch.randn(64, 64)
    exact = x.double() @ y.double()
    errors = {}
    for tf32, how in ((False, "tf32"), (True, "tf32"), (True, "ieee")):
        out = torch.zeros(64, 64)
        launch(source, (1,), x, y, out, B=64, HOW=how, options=interpreter.Options(tf32=tf32))
        errors[tf32, how] = (out - exact).abs().max().item()
    assert errors[False, "tf32"] <= 1e-4
    assert errors[True, "ieee"] <= 1e-4
    assert 1e-3 <= errors[True, "tf32"] <= 3e-2


@pytest.mark.parametrize(
    ("a_format", "b_format"), [("e2m1", "e2m1"), ("e4m3", "e5m2"), ("e2m1", "bf16"), ("fp16", "e4m3")]
)
def test_dot_scaled(a_format: str, b_format: str) -> None:
    m, n, k = 16, 32, 64
    source = """
    @triton.jit
    def kernel(a, sa, b, sb, out, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, KA: tl.constexpr,
               KB: tl.constexpr, FA: tl.constexpr, FB: tl.constexpr):
        m, n, s = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K // 32)
        x = tl.load(a + m[:, None] * KA + tl.arange(0, KA)[None, :])
        y = tl.load(b + tl.arange(0, KB)[:, None] * N + n[None, :])
        u = tl.load(sa + m[:, None] * (K // 32) + s[None, :])
        v = tl.load(sb + n[:, None] * (K // 32) + s[None, :])
        tl.store(out + m[:, None] * N + n[None, :], tl.dot_scaled(x, u, FA, y, v, FB))
    """
    levels = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6, 0, -0.5, -1, -1.5, -2, -3, -4, -6])

    def operand(name: str, shape: tuple[int, int], axis: int) -> tuple[Torch, Torch]:
        if name == "e2m1":
            codes = torch.randint(0, 16, shape, dtype=torch.uint8)
            low, high = (codes.index_select(axis, torch.arange(i, codes.shape[axis], 2)) for i in (0, 1))
            return (low | (high << 4)).contiguous(), levels[codes.long()].double()
        kind = {"e4m3": torch.float8_e4m3fn, "e5m2": torch.float8_e5m2, "bf16": torch.bfloat16, "fp16": torch.half}[
            name
        ]
        x = torch.randn(shape).to(kind)
        return x, x.double()

    a, exact_a = operand(a_format, (m, k), 1)
    b, exact_b = operand(b_format, (k, n), 0)
    sa = torch.randint(120, 134, (m, k // 32), dtype=torch.uint8)
    sb = torch.randint(120, 134, (n, k // 32), dtype=torch.uint8)
    out = torch.zeros(m, n)
    launch(source, (1,), a, sa, b, sb, out, M=m, N=n, K=k, KA=a.shape[1], KB=b.shape[0], FA=a_format, FB=b_format)
    scaled_a = exact_a * torch.exp2(sa.double() - 127).repeat_interleave(32, 1)
    scaled_b = exact_b * torch.exp2(sb.double() - 127).repeat_interleave(32, 1).T
    expected = scaled_a @ scaled_b
    assert ((out - expected).abs() <= 1e-5 * (scaled_a.abs() @ scaled_b.abs()) + 1e-6).all()


def test_atomics_on_bf16_round() -> None:
    source = """
    @triton.jit
    def kernel(x, out, B: tl.constexpr):
        tl.atomic_add(out + tl.arange(0, B) % 2, tl.load(x + tl.arange(0, B)))
    """
    x, out = torch.rand(8).bfloat16(), torch.zeros(2).bfloat16()
    launch(source, (1,), x, out, B=8)
    expected = torch.zeros(2).bfloat16()
    for i in range(8):
        expected[i % 2] += x[i]
    assert torch.equal(out, expected)
