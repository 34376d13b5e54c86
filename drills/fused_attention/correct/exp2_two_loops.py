"""Base two, tiles of 64 queries and 32 keys: one loop over tiles that all see, one over those that need a mask."""

import torch
import triton
import triton.language as tl


@triton.jit
def step(
    acc, m, l, query, k, v, start, kv_len, limit, k_s, k_d, v_s, v_d, scale,
    MASKED: tl.constexpr, D: tl.constexpr, BLOCK_N: tl.constexpr,
):  # fmt: skip
    cols = start + tl.arange(0, BLOCK_N)
    d = tl.arange(0, D)
    key_at = k + cols[None, :] * k_s + d[:, None] * k_d
    value_at = v + cols[:, None] * v_s + d[None, :] * v_d
    if MASKED:
        key = tl.load(key_at, mask=cols[None, :] < kv_len, other=0.0)
        value = tl.load(value_at, mask=cols[:, None] < kv_len, other=0.0)
    else:
        key = tl.load(key_at)
        value = tl.load(value_at)
    s = tl.dot(query, key, input_precision="ieee") * scale
    if MASKED:
        s = tl.where(cols[None, :] < limit[:, None], s, -float("inf"))
    m_new = tl.maximum(m, tl.max(s, 1))
    base = tl.where(m_new == -float("inf"), 0.0, m_new)
    p = tl.exp2(s - base[:, None])
    alpha = tl.exp2(m - base)
    acc = tl.dot(p.to(value.dtype), value, acc * alpha[:, None], input_precision="ieee")
    return acc, m_new, l * alpha + tl.sum(p, 1)


@triton.jit
def attention_kernel(
    q, k, v, o, heads, q_len, kv_len,
    q_b, q_h, q_s, q_d, k_b, k_h, k_s, k_d, v_b, v_h, v_s, v_d, o_b, o_h, o_s, o_d,
    scale, CAUSAL: tl.constexpr, D: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):  # fmt: skip
    b, h = tl.program_id(1), tl.program_id(2)
    first = tl.program_id(0) * BLOCK_M
    rows = first + tl.arange(0, BLOCK_M)
    d = tl.arange(0, D)
    k += b * k_b + h * k_h
    v += b * v_b + h * v_h
    query = tl.load(
        q + b * q_b + h * q_h + rows[:, None] * q_s + d[None, :] * q_d, mask=rows[:, None] < q_len, other=0.0
    )
    acc = tl.zeros((BLOCK_M, D), tl.float32)
    m = tl.full((BLOCK_M,), -float("inf"), tl.float32)
    l = tl.zeros((BLOCK_M,), tl.float32)
    limit = tl.zeros((BLOCK_M,), tl.int32) + kv_len
    free = kv_len
    end = kv_len
    if CAUSAL:
        limit = tl.minimum(kv_len, rows + 1 + kv_len - q_len)
        free = tl.maximum(0, tl.minimum(kv_len, first + 1 + kv_len - q_len))
        end = tl.maximum(0, tl.minimum(kv_len, first + BLOCK_M + kv_len - q_len))
    free = free // BLOCK_N * BLOCK_N
    for start in range(0, free, BLOCK_N):
        acc, m, l = step(acc, m, l, query, k, v, start, kv_len, limit, k_s, k_d, v_s, v_d, scale, False, D, BLOCK_N)
    for start in range(free, end, BLOCK_N):
        acc, m, l = step(acc, m, l, query, k, v, start, kv_len, limit, k_s, k_d, v_s, v_d, scale, True, D, BLOCK_N)
    out = acc * (1.0 / tl.where(l == 0.0, 1.0, l))[:, None]
    tl.store(
        o + b * o_b + h * o_h + rows[:, None] * o_s + d[None, :] * o_d,
        out.to(o.dtype.element_ty),
        mask=rows[:, None] < q_len,
    )


def attention(q, k, v, causal):
    batch, heads, q_len, depth = q.shape
    o = torch.empty_like(q)
    attention_kernel[(triton.cdiv(q_len, 64), batch, heads)](
        q, k, v, o, heads, q_len, k.shape[2], *q.stride(), *k.stride(), *v.stride(), *o.stride(),
        depth**-0.5 * 1.4426950408889634, CAUSAL=causal, D=depth, BLOCK_M=64, BLOCK_N=32,
    )  # fmt: skip
    return o
