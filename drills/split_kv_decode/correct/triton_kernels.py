"""One program a share, tiles of 16 keys with online softmax; one program to merge."""

import torch
import triton
import triton.language as tl


@triton.jit
def partial_kernel(
    q, k, v, o, lse, S, D, scale, q_s, k_s, k_d, v_s, v_d, BLOCK_S: tl.constexpr, BLOCK_D: tl.constexpr
):
    d = tl.arange(0, BLOCK_D)
    query = tl.load(q + d * q_s, mask=d < D, other=0.0).to(tl.float32) * scale
    m = -float("inf")
    total = 0.0
    acc = tl.zeros((BLOCK_D,), tl.float32)
    for start in range(0, S, BLOCK_S):
        s = start + tl.arange(0, BLOCK_S)
        inside = (s < S)[:, None] & (d < D)[None, :]
        keys = tl.load(k + s[:, None] * k_s + d[None, :] * k_d, mask=inside, other=0.0).to(tl.float32)
        scores = tl.where(s < S, tl.sum(keys * query[None, :], axis=1), -float("inf"))
        m_new = tl.maximum(m, tl.max(scores, axis=0))
        keep = tl.exp(m - m_new)
        weights = tl.exp(scores - m_new)
        values = tl.load(v + s[:, None] * v_s + d[None, :] * v_d, mask=inside, other=0.0).to(tl.float32)
        total = total * keep + tl.sum(weights, axis=0)
        acc = acc * keep + tl.sum(weights[:, None] * values, axis=0)
        m = m_new
    seen = total > 0.0
    tl.store(o + d, acc / tl.where(seen, total, 1.0), mask=d < D)
    tl.store(lse, tl.where(seen, m + tl.log(tl.where(seen, total, 1.0)), -float("inf")))


@triton.jit
def merge_kernel(o, lse, out, n, D, o_n, o_d, lse_n, BLOCK_N: tl.constexpr, BLOCK_D: tl.constexpr):
    i = tl.arange(0, BLOCK_N)
    d = tl.arange(0, BLOCK_D)
    sums = tl.load(lse + i * lse_n, mask=i < n, other=-float("inf"))
    top = tl.max(sums, axis=0)
    weights = tl.exp(sums - tl.where(top == -float("inf"), 0.0, top))
    total = tl.sum(weights, axis=0)
    inside = (i < n)[:, None] & (d < D)[None, :]
    rows = tl.load(o + i[:, None] * o_n + d[None, :] * o_d, mask=inside, other=0.0).to(tl.float32)
    tl.store(out + d, tl.sum(rows * weights[:, None], axis=0) / tl.where(total > 0.0, total, 1.0), mask=d < D)


def partial(q, k, v):
    (S, D) = k.shape
    o = torch.empty(D, dtype=q.dtype, device=q.device)
    lse = torch.empty((), dtype=torch.float32, device=q.device)
    strides = (q.stride(0), *k.stride(), *v.stride())
    partial_kernel[(1,)](q, k, v, o, lse, S, D, D**-0.5, *strides, BLOCK_S=16, BLOCK_D=triton.next_power_of_2(D))
    return o, lse


def merge(o, lse):
    n, D = o.shape
    out = torch.empty(D, dtype=o.dtype, device=o.device)
    blocks = {"BLOCK_N": triton.next_power_of_2(n), "BLOCK_D": triton.next_power_of_2(D)}
    merge_kernel[(1,)](o, lse, out, n, D, *o.stride(), lse.stride(0), **blocks)
    return out
