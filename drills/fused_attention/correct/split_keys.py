"""Three programs share the keys of a tile of queries; a second kernel merges by log-sum-exp. Parts may be empty."""

import torch
import triton
import triton.language as tl


@triton.jit
def part_kernel(
    q, k, v, o, lse, heads, q_len, kv_len,
    q_b, q_h, q_s, q_d, k_b, k_h, k_s, k_d, v_b, v_h, v_s, v_d,
    scale, CAUSAL: tl.constexpr, D: tl.constexpr, PARTS: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    pair, part = tl.program_id(1), tl.program_id(2)
    b, h = pair // heads, pair % heads
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    d = tl.arange(0, D)
    query = tl.load(
        q + b * q_b + h * q_h + rows[:, None] * q_s + d[None, :] * q_d, mask=rows[:, None] < q_len, other=0.0
    )
    each = tl.cdiv(tl.cdiv(kv_len, PARTS), BLOCK) * BLOCK
    m = tl.full((BLOCK,), -float("inf"), tl.float32)
    l = tl.zeros((BLOCK,), tl.float32)
    acc = tl.zeros((BLOCK, D), tl.float32)
    for start in range(part * each, tl.minimum(kv_len, part * each + each), BLOCK):
        cols = start + tl.arange(0, BLOCK)
        inside = cols < kv_len
        key = tl.load(
            k + b * k_b + h * k_h + cols[None, :] * k_s + d[:, None] * k_d, mask=inside[None, :], other=0.0
        )
        value = tl.load(
            v + b * v_b + h * v_h + cols[:, None] * v_s + d[None, :] * v_d, mask=inside[:, None], other=0.0
        )
        s = tl.dot(query, key, input_precision="ieee") * scale
        seen = inside[None, :] & (rows[:, None] < q_len)
        if CAUSAL:
            seen = seen & (cols[None, :] <= rows[:, None] + (kv_len - q_len))
        s = tl.where(seen, s, -float("inf"))
        m_new = tl.maximum(m, tl.max(s, axis=1))
        base = tl.where(m_new == -float("inf"), 0.0, m_new)
        p = tl.exp(s - base[:, None])
        l = l * tl.exp(m - base) + tl.sum(p, axis=1)
        acc = acc * tl.exp(m - base)[:, None] + tl.dot(p, value.to(tl.float32), input_precision="ieee")
        m = m_new
    some = tl.where(l > 0.0, l, 1.0)
    at = (pair * PARTS + part) * q_len + rows
    tl.store(o + at[:, None] * D + d[None, :], acc / some[:, None], mask=rows[:, None] < q_len)
    tl.store(lse + at, tl.where(l > 0.0, m + tl.log(some), -float("inf")), mask=rows < q_len)


@triton.jit
def merge_kernel(
    parts, lse, o, heads, q_len, o_b, o_h, o_s, o_d, D: tl.constexpr, PARTS: tl.constexpr, WIDTH: tl.constexpr
):
    row, pair = tl.program_id(0), tl.program_id(1)
    n = tl.arange(0, WIDTH)
    d = tl.arange(0, D)
    at = (pair * PARTS + n) * q_len + row
    size = tl.load(lse + at, mask=n < PARTS, other=-float("inf"))
    top = tl.max(size, axis=0)
    weight = tl.exp(size - tl.where(top == -float("inf"), 0.0, top))
    total = tl.sum(weight, axis=0)
    each = tl.load(parts + at[:, None] * D + d[None, :], mask=n[:, None] < PARTS, other=0.0)
    out = tl.sum(each * weight[:, None], axis=0) / tl.where(total > 0.0, total, 1.0)
    tl.store(o + pair // heads * o_b + pair % heads * o_h + row * o_s + d * o_d, out)


def attention(q, k, v, causal):
    batch, heads, q_len, depth = q.shape
    o = torch.empty(q.shape, dtype=q.dtype, device=q.device)
    parts = torch.empty((batch * heads, 3, q_len, depth), dtype=torch.float32, device=q.device)
    lse = torch.empty((batch * heads, 3, q_len), dtype=torch.float32, device=q.device)
    part_kernel[(triton.cdiv(q_len, 16), batch * heads, 3)](
        q, k, v, parts, lse, heads, q_len, k.shape[2], *q.stride(), *k.stride(), *v.stride(),
        depth**-0.5, CAUSAL=causal, D=depth, PARTS=3, BLOCK=16,
    )  # fmt: skip
    merge_kernel[(q_len, batch * heads)](parts, lse, o, heads, q_len, *o.stride(), D=depth, PARTS=3, WIDTH=4)
    return o
