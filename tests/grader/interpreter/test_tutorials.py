"""Kernels built as Triton's tutorials build theirs: locks, addresses in tensors, persistent loops, backward."""

from __future__ import annotations

import torch

from grader import interpreter
from tests.grader.interpreter.running import kinds, launch, module

LAYER_NORM_BACKWARD = """
@triton.jit
def kernel(dx, dy, dw, db, x, w, mean, rstd, locks, stride, n, GROUPS: tl.constexpr, B: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, B)
    inside = cols < n
    x += row * stride
    dy += row * stride
    dx += row * stride
    lock = row % GROUPS
    locks += lock
    seen = locks + GROUPS
    dw += lock * n + cols
    db += lock * n + cols
    v = tl.load(x + cols, mask=inside, other=0).to(tl.float32)
    g = tl.load(dy + cols, mask=inside, other=0).to(tl.float32)
    weight = tl.load(w + cols, mask=inside).to(tl.float32)
    scale = tl.load(rstd + row)
    hat = tl.where(inside, (v - tl.load(mean + row)) * scale, 0.0)
    wg = tl.where(inside, weight * g, 0.0)
    c1 = tl.sum(hat * wg, axis=0) / n
    c2 = tl.sum(wg, axis=0) / n
    tl.store(dx + cols, (wg - (hat * c1 + c2)) * scale, mask=inside)
    partial_w = (g * hat).to(weight.dtype)
    partial_b = g.to(weight.dtype)
    while tl.atomic_cas(locks, 0, 1) == 1:
        pass
    count = tl.load(seen)
    if count == 0:
        tl.atomic_xchg(seen, 1)
    else:
        partial_w += tl.load(dw, mask=inside)
        partial_b += tl.load(db, mask=inside)
    tl.store(dw, partial_w, mask=inside)
    tl.store(db, partial_b, mask=inside)
    tl.debug_barrier()
    tl.atomic_xchg(locks, 0)
"""


def test_layer_norm_backward_with_locks() -> None:
    rows, n, groups = 40, 50, 4
    x = torch.randn(rows, n, dtype=torch.float32)
    w, b, dy = torch.rand(n), torch.rand(n), torch.randn(rows, n)
    mean, rstd = x.mean(1), 1 / (x.var(1, unbiased=False) + 1e-5).sqrt()
    dx, dw, db = torch.zeros(rows, n), torch.zeros(groups, n), torch.zeros(groups, n)
    locks = torch.zeros(2 * groups, dtype=torch.int32)
    record = launch(
        LAYER_NORM_BACKWARD, (rows,), dx, dy, dw, db, x, w, mean, rstd, locks, n, n, GROUPS=groups, B=64
    )
    leaf, weight, bias = (t.clone().requires_grad_() for t in (x, w, b))
    torch.nn.functional.layer_norm(leaf, (n,), weight, bias).backward(dy)  # type: ignore[no-untyped-call]
    assert leaf.grad is not None
    assert weight.grad is not None
    assert bias.grad is not None
    assert torch.allclose(dx, leaf.grad, atol=1e-5)
    assert torch.allclose(dw.sum(0), weight.grad, atol=1e-4)
    assert torch.allclose(db.sum(0), bias.grad, atol=1e-4)
    assert kinds(record) == []
    assert not locks[:groups].any()


GROUPED = """
@triton.jit
def kernel(a_addresses, b_addresses, c_addresses, sizes, strides, groups, SM: tl.constexpr,
           M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    tile = tl.program_id(0)
    done = 0
    for g in range(groups):
        m = tl.load(sizes + g * 3)
        n = tl.load(sizes + g * 3 + 1)
        k = tl.load(sizes + g * 3 + 2)
        tiles_m, tiles_n = tl.cdiv(m, M), tl.cdiv(n, N)
        tiles = tiles_m * tiles_n
        while tile >= done and tile < done + tiles:
            lda, ldb, ldc = tl.load(strides + g * 3), tl.load(strides + g * 3 + 1), tl.load(strides + g * 3 + 2)
            a = tl.load(a_addresses + g).to(tl.pointer_type(tl.float16))
            b = tl.load(b_addresses + g).to(tl.pointer_type(tl.float16))
            c = tl.load(c_addresses + g).to(tl.pointer_type(tl.float16))
            here = tile - done
            at_m = here // tiles_n * M + tl.arange(0, M)
            at_n = here % tiles_n * N + tl.arange(0, N)
            at_k = tl.arange(0, K)
            left = a + at_m[:, None] * lda + at_k[None, :]
            right = b + at_k[:, None] * ldb + at_n[None, :]
            acc = tl.zeros((M, N), dtype=tl.float32)
            for _ in range(0, tl.cdiv(k, K)):
                tl.multiple_of(left, [16, 16])
                acc += tl.dot(tl.load(left), tl.load(right))
                left += K
                right += K * ldb
            tl.store(c + at_m[:, None] * ldc + at_n[None, :], acc.to(tl.float16))
            tile += SM
        done = done + tiles
"""


def test_grouped_matmul_through_tensors_of_addresses() -> None:
    shapes = [(64, 32, 32), (32, 96, 64), (32, 32, 96)]
    a = [torch.randn(m, k).half() for m, _, k in shapes]
    b = [torch.randn(k, n).half() for _, n, k in shapes]
    c = [torch.zeros(m, n).half() for m, n, _ in shapes]
    addresses = [torch.tensor([t.data_ptr() for t in group]) for group in (a, b, c)]
    sizes = torch.tensor(shapes, dtype=torch.int32)
    strides = torch.tensor([[x.stride(0), y.stride(0), z.stride(0)] for x, y, z in zip(a, b, c, strict=True)]).int()
    record = launch(GROUPED, (4,), *addresses, sizes, strides, 3, SM=4, M=32, N=32, K=32)
    for x, y, z in zip(a, b, c, strict=True):
        assert torch.allclose(z.float(), x.float() @ y.float(), atol=2e-2, rtol=1e-2)
    assert kinds(record) == []


PERSISTENT = """
from triton.tools.tensor_descriptor import TensorDescriptor

@triton.jit
def place(tile, across, rows, GROUP: tl.constexpr):
    group = tile // across
    first = group * GROUP
    height = min(rows - first, GROUP)
    return first + (tile % across) % height, (tile % across) // height

@triton.jit
def kernel(a, b, c, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, GROUP: tl.constexpr,
           PROGRAMS: tl.constexpr, SPLIT: tl.constexpr):
    rows, cols = tl.cdiv(m, M), tl.cdiv(n, N)
    for tile in tl.range(tl.program_id(0), rows * cols, PROGRAMS, flatten=True, warp_specialize=False):
        row, col = place(tile, GROUP * cols, rows, GROUP)
        acc = tl.zeros((M, N), dtype=tl.float32)
        for step in range(tl.cdiv(k, K)):
            x = a.load([row * M, step * K])
            y = b.load([col * N, step * K])
            acc = tl.dot(x, y.T, acc)
        if SPLIT:
            halves = tl.permute(tl.reshape(acc, (M, 2, N // 2)), (0, 2, 1))
            first, second = tl.split(halves)
            c.store([row * M, col * N], first.to(tl.float16))
            c.store([row * M, col * N + N // 2], second.to(tl.float16))
        else:
            c.store([row * M, col * N], acc.to(tl.float16))

def run(a, b, c, split):
    given = [TensorDescriptor.from_tensor(a, [32, 32]), TensorDescriptor.from_tensor(b, [32, 32]),
             TensorDescriptor.from_tensor(c, [32, 16 if split else 32])]
    kernel[(3,)](*given, a.shape[0], b.shape[0], a.shape[1], M=32, N=32, K=32, GROUP=2, PROGRAMS=3, SPLIT=split)
"""


def test_persistent_matmul_with_host_descriptors() -> None:
    a, b = torch.randn(100, 72).half(), torch.randn(104, 72).half()
    for split in (False, True):
        c = torch.zeros(100, 104).half()
        module(PERSISTENT).run(a, b, c, split)
        assert torch.allclose(c.float(), a.float() @ b.float().T, atol=3e-2, rtol=1e-2)


ATTENTION_BACKWARD = """
@triton.jit
def keys_and_values(dk, dv, q, k, v, do, peaks, deltas, at_n, length, stride,
                    M: tl.constexpr, N: tl.constexpr, D: tl.constexpr, start, steps, MASK: tl.constexpr):
    at_d = tl.arange(0, D)
    at = start
    for _ in range(steps):
        at_m = at + tl.arange(0, M)
        inside = at_m < length
        qt = tl.load(q + at_m[None, :] * stride + at_d[:, None], mask=inside[None, :], other=0.0)
        peak = tl.load(peaks + at_m, mask=inside, other=0.0)
        weight = tl.math.exp2(tl.dot(k, qt) - peak[None, :])
        if MASK:
            weight = tl.where((at_m[None, :] >= at_n[:, None]) & inside[None, :], weight, 0.0)
        g = tl.load(do + at_m[:, None] * stride + at_d[None, :], mask=inside[:, None], other=0.0)
        dv += tl.dot(weight, g)
        delta = tl.load(deltas + at_m, mask=inside, other=0.0)
        ds = weight * (tl.dot(v, tl.trans(g)) - delta[None, :])
        dk += tl.dot(ds, tl.trans(qt))
        at += M
    return dk, dv

@triton.jit
def kernel(q, k, v, do, dk, dv, peaks, deltas, length, stride, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr):
    LN2: tl.constexpr = 0.6931471824645996
    base = (tl.program_id(1) * length * stride).to(tl.int64)
    q += base
    k += base
    v += base
    do += base
    peaks += tl.program_id(1) * length
    deltas += tl.program_id(1) * length
    start = tl.program_id(0) * N
    at_n = start + tl.arange(0, N)
    at_d = tl.arange(0, D)
    where = at_n[:, None] * stride + at_d[None, :]
    mine = at_n[:, None] < length
    key = tl.load(k + where, mask=mine, other=0.0)
    value = tl.load(v + where, mask=mine, other=0.0)
    zero = tl.zeros((N, D), tl.float32)
    grad_k, grad_v = keys_and_values(zero, zero, q, key, value, do, peaks, deltas, at_n, length, stride,
                                     M, N, D, start, N // M, MASK=True)
    rest = start + N
    grad_k, grad_v = keys_and_values(grad_k, grad_v, q, key, value, do, peaks, deltas, at_n, length, stride,
                                     M, N, D, rest, tl.cdiv(tl.maximum(length - rest, 0), M), MASK=True)
    tl.store(dv + base + where, grad_v, mask=mine)
    tl.store(dk + base + where, grad_k * LN2, mask=mine)
"""


def test_attention_backward_of_keys_and_values() -> None:
    heads, length, width = 2, 70, 32
    q, k, v = (torch.randn(heads, length, width, dtype=torch.float64, requires_grad=True) for _ in range(3))
    out = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True, scale=1.0)
    grad = torch.randn_like(out)
    out.backward(grad)  # type: ignore[no-untyped-call]
    scores = (q @ k.transpose(1, 2)).masked_fill(torch.ones(length, length).triu(1).bool(), -torch.inf)
    peaks = (scores.logsumexp(2) / 0.6931471805599453).float()
    deltas = (grad * out).sum(2).float()
    scaled = (k / 0.6931471805599453).float()  # base two, as the kernel has it
    dk, dv = torch.zeros(heads, length, width), torch.zeros(heads, length, width)
    record = launch(
        ATTENTION_BACKWARD, (3, heads), q.detach().float(), scaled.detach(), v.detach().float(), grad.float(),
        dk, dv, peaks.detach(), deltas.detach(), length, width, M=16, N=32, D=width,
    )  # fmt: skip
    assert k.grad is not None
    assert v.grad is not None
    assert torch.allclose(dv, v.grad.float(), atol=1e-4)
    assert torch.allclose(dk, k.grad.float() * 0.6931471805599453, atol=1e-4)
    assert kinds(record) == []


def test_rows_shared_by_few_programs_and_dropout() -> None:
    source = """
    @triton.jit
    def kernel(x, out, rows, cols, p, seed, B: tl.constexpr):
        first, step = tl.program_id(0), tl.num_programs(0)
        for row in tl.range(first, rows, step, num_stages=2):
            at = tl.arange(0, B)
            v = tl.load(x + row * cols + at, mask=at < cols, other=-float("inf"))
            e = tl.exp(v - tl.max(v, axis=0))
            keep = tl.rand(seed, row * cols + at) > p
            tl.store(out + row * cols + at, tl.where(keep, e / tl.sum(e, axis=0) / (1 - p), 0.0), mask=at < cols)
    """
    x, out = torch.randn(50, 60), torch.zeros(50, 60)
    record = launch(source, (7,), x, out, 50, 60, 0.25, 11, B=64)
    kept = out != 0
    assert torch.allclose(out[kept], (x.softmax(1) / 0.75)[kept])
    assert 0.7 <= kept.float().mean().item() <= 0.8
    assert kinds(record) == []
    assert isinstance(record, interpreter.Recorder)
