"""Four programs share the keys of a key head; a second kernel merges by log-sum-exp. Parts may be empty."""

import torch
import triton
import triton.language as tl


@triton.jit
def part_kernel(
    q, k, v, o, lse, group, kv_len, q_h, q_d, k_h, k_s, k_d, v_h, v_s, v_d,
    scale, D: tl.constexpr, ROWS: tl.constexpr, SPLITS: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    kv, part = tl.program_id(0), tl.program_id(1)
    rows = tl.arange(0, ROWS)
    heads = kv * group + rows
    d = tl.arange(0, D)
    query = tl.load(q + heads[:, None] * q_h + d[None, :] * q_d, mask=rows[:, None] < group, other=0.0)
    each = tl.cdiv(kv_len, SPLITS)
    end = tl.minimum(kv_len, (part + 1) * each)
    m = tl.full((ROWS,), -float("inf"), tl.float32)
    l = tl.zeros((ROWS,), tl.float32)
    acc = tl.zeros((ROWS, D), tl.float32)
    for start in range(part * each, end, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        inside = cols < end
        key = tl.load(k + kv * k_h + cols[None, :] * k_s + d[:, None] * k_d, mask=inside[None, :], other=0.0)
        value = tl.load(v + kv * v_h + cols[:, None] * v_s + d[None, :] * v_d, mask=inside[:, None], other=0.0)
        s = tl.where(inside[None, :], tl.dot(query, key, input_precision="ieee") * scale, -float("inf"))
        m_new = tl.maximum(m, tl.max(s, axis=1))
        p = tl.exp(s - m_new[:, None])
        l = l * tl.exp(m - m_new) + tl.sum(p, axis=1)
        acc = acc * tl.exp(m - m_new)[:, None] + tl.dot(p, value.to(tl.float32), input_precision="ieee")
        m = m_new
    some = tl.where(l > 0.0, l, 1.0)
    at = heads * SPLITS + part
    mine = rows < group
    tl.store(o + at[:, None] * D + d[None, :], acc / some[:, None], mask=mine[:, None])
    tl.store(lse + at, tl.where(l > 0.0, m + tl.log(some), -float("inf")), mask=mine)


@triton.jit
def merge_kernel(parts, lse, o, o_h, o_d, D: tl.constexpr, SPLITS: tl.constexpr):
    head = tl.program_id(0)
    n = tl.arange(0, SPLITS)
    d = tl.arange(0, D)
    size = tl.load(lse + head * SPLITS + n)
    weight = tl.exp(size - tl.max(size, axis=0))
    each = tl.load(parts + (head * SPLITS + n)[:, None] * D + d[None, :])
    out = tl.sum(each * weight[:, None], axis=0) / tl.sum(weight, axis=0)
    tl.store(o + head * o_h + d * o_d, out)


def decode(q, k, v):
    heads, depth = q.shape
    kv_heads, kv_len, _ = k.shape
    group = heads // kv_heads
    o = torch.empty(q.shape, dtype=q.dtype, device=q.device)
    parts = torch.empty((heads, 4, depth), dtype=torch.float32, device=q.device)
    lse = torch.empty((heads, 4), dtype=torch.float32, device=q.device)
    part_kernel[(kv_heads, 4)](
        q, k, v, parts, lse, group, kv_len, *q.stride(), *k.stride(), *v.stride(),
        depth**-0.5, D=depth, ROWS=max(16, triton.next_power_of_2(group)), SPLITS=4, BLOCK=16,
    )  # fmt: skip
    merge_kernel[(heads,)](parts, lse, o, *o.stride(), D=depth, SPLITS=4)
    return o
