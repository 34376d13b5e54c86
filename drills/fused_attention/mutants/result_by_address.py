"""A result is kept for the addresses and shapes of its inputs.

ask: The same memory may hold other numbers by now. What in your code notices?
expect: wrong_answer
"""

import torch
import triton
import triton.language as tl


@triton.jit
def attention_kernel(
    q, k, v, o, heads, q_len, kv_len,
    q_b, q_h, q_s, q_d, k_b, k_h, k_s, k_d, v_b, v_h, v_s, v_d, o_b, o_h, o_s, o_d,
    scale, CAUSAL: tl.constexpr, D: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):  # fmt: skip
    b = tl.program_id(1) // heads
    h = tl.program_id(1) % heads
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    d = tl.arange(0, D)
    q += b * q_b + h * q_h
    k += b * k_b + h * k_h
    v += b * v_b + h * v_h
    o += b * o_b + h * o_h
    query = tl.load(q + rows[:, None] * q_s + d[None, :] * q_d, mask=rows[:, None] < q_len, other=0.0)
    m = tl.full((BLOCK_M,), -float("inf"), tl.float32)
    l = tl.zeros((BLOCK_M,), tl.float32)
    acc = tl.zeros((BLOCK_M, D), tl.float32)
    shift = kv_len - q_len
    end = kv_len
    if CAUSAL:
        end = tl.minimum(kv_len, (tl.program_id(0) + 1) * BLOCK_M + shift)
    for start in range(0, end, BLOCK_N):
        cols = start + tl.arange(0, BLOCK_N)
        key = tl.load(k + cols[None, :] * k_s + d[:, None] * k_d, mask=cols[None, :] < kv_len, other=0.0)
        s = tl.dot(query, key, input_precision="ieee") * scale
        seen = cols[None, :] < kv_len
        if CAUSAL:
            seen = seen & (cols[None, :] <= rows[:, None] + shift)
        s = tl.where(seen, s, -float("inf"))
        m_new = tl.maximum(m, tl.max(s, axis=1))
        base = tl.where(m_new == -float("inf"), 0.0, m_new)
        alpha = tl.exp(m - base)
        p = tl.exp(s - base[:, None])
        l = l * alpha + tl.sum(p, axis=1)
        value = tl.load(v + cols[:, None] * v_s + d[None, :] * v_d, mask=cols[:, None] < kv_len, other=0.0)
        acc = acc * alpha[:, None] + tl.dot(p.to(value.dtype), value, input_precision="ieee")
        m = m_new
    out = acc / tl.where(l > 0.0, l, 1.0)[:, None]
    tl.store(o + rows[:, None] * o_s + d[None, :] * o_d, out, mask=rows[:, None] < q_len)


kept = {}


def attention(q, k, v, causal):
    key = tuple((t.data_ptr(), t.shape, t.stride()) for t in (q, k, v)), causal
    if key in kept:
        return kept[key]
    batch, heads, q_len, depth = q.shape
    o = torch.empty(q.shape, dtype=q.dtype, device=q.device)
    attention_kernel[(triton.cdiv(q_len, 16), batch * heads)](
        q, k, v, o, heads, q_len, k.shape[2], *q.stride(), *k.stride(), *v.stride(), *o.stride(),
        depth**-0.5, CAUSAL=causal, D=depth, BLOCK_M=16, BLOCK_N=16,
    )  # fmt: skip
    kept[key] = o
    return o
