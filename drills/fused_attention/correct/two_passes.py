"""Two passes over the keys: the first finds each query's maximum and sum, the second adds up weighted values.

Nothing is rescaled but the sum; the keys are read twice.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def scores(query, k, cols, rows, shift, kv_len, k_s, k_d, scale, CAUSAL: tl.constexpr, D: tl.constexpr):
    d = tl.arange(0, D)
    key = tl.load(k + cols[None, :] * k_s + d[:, None] * k_d, mask=cols[None, :] < kv_len, other=0.0)
    seen = (cols[None, :] < kv_len) & (rows[:, None] >= 0)
    if CAUSAL:
        seen &= rows[:, None] + shift >= cols[None, :]
    return tl.where(seen, tl.dot(query, key, input_precision="ieee") * scale, -float("inf"))


@triton.jit
def attention_kernel(
    q, k, v, o, heads, q_len, kv_len,
    q_b, q_h, q_s, q_d, k_b, k_h, k_s, k_d, v_b, v_h, v_s, v_d, o_b, o_h, o_s, o_d,
    scale, CAUSAL: tl.constexpr, D: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    b, h = tl.program_id(1) // heads, tl.program_id(1) % heads
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    lanes = tl.arange(0, BLOCK)
    d = tl.arange(0, D)
    k += b * k_b + h * k_h
    v += b * v_b + h * v_h
    query = tl.load(
        q + b * q_b + h * q_h + rows[:, None] * q_s + d[None, :] * q_d, mask=rows[:, None] < q_len, other=0.0
    )
    shift = kv_len - q_len
    m = tl.full((BLOCK,), -float("inf"), tl.float32)
    l = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, kv_len, BLOCK):
        s = scores(query, k, start + lanes, rows, shift, kv_len, k_s, k_d, scale, CAUSAL, D)
        m_new = tl.maximum(m, tl.max(s, axis=1))
        base = tl.where(m_new == -float("inf"), 0.0, m_new)
        l = l * tl.exp(m - base) + tl.sum(tl.exp(s - base[:, None]), axis=1)
        m = m_new
    base = tl.where(m == -float("inf"), 0.0, m)
    acc = tl.zeros((BLOCK, D), tl.float32)
    for start in range(0, kv_len, BLOCK):
        cols = start + lanes
        s = scores(query, k, cols, rows, shift, kv_len, k_s, k_d, scale, CAUSAL, D)
        p = tl.exp(s - base[:, None]) / tl.where(l > 0.0, l, 1.0)[:, None]
        value = tl.load(v + cols[:, None] * v_s + d[None, :] * v_d, mask=cols[:, None] < kv_len, other=0.0)
        acc += tl.dot(p, value.to(tl.float32), input_precision="ieee")
    tl.store(o + b * o_b + h * o_h + rows[:, None] * o_s + d[None, :] * o_d, acc, mask=rows[:, None] < q_len)


def attention(q, k, v, causal):
    batch, heads, q_len, depth = q.shape
    o = torch.empty(q.shape, dtype=q.dtype, device=q.device)
    attention_kernel[(triton.cdiv(q_len, 16), batch * heads)](
        q, k, v, o, heads, q_len, k.shape[2], *q.stride(), *k.stride(), *v.stride(), *o.stride(),
        depth**-0.5, CAUSAL=causal, D=depth, BLOCK=16,
    )  # fmt: skip
    return o
