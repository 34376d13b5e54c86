"""Scores as keys × queries: maxima and sums run down the columns, and the accumulator is D × queries."""

import triton
import triton.language as tl


@triton.jit
def attention_kernel(
    q, k, v, o, heads, q_len, kv_len,
    q_b, q_h, q_s, q_d, k_b, k_h, k_s, k_d, v_b, v_h, v_s, v_d, o_b, o_h, o_s, o_d,
    scale, CAUSAL: tl.constexpr, D: tl.constexpr, BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    b, h = tl.program_id(1) // heads, tl.program_id(1) % heads
    i = tl.program_id(0) * BLOCK_Q + tl.arange(0, BLOCK_Q)
    d = tl.arange(0, D)
    queries = tl.load(
        q + b * q_b + h * q_h + i[None, :] * q_s + d[:, None] * q_d, mask=i[None, :] < q_len, other=0.0
    )
    m = tl.full((BLOCK_Q,), -float("inf"), tl.float32)
    l = tl.zeros((BLOCK_Q,), tl.float32)
    acc = tl.zeros((D, BLOCK_Q), tl.float32)
    for tile in range(tl.cdiv(kv_len, BLOCK_K)):
        j = tile * BLOCK_K + tl.arange(0, BLOCK_K)
        keys = tl.load(
            k + b * k_b + h * k_h + j[:, None] * k_s + d[None, :] * k_d, mask=j[:, None] < kv_len, other=0.0
        )
        values = tl.load(
            v + b * v_b + h * v_h + j[None, :] * v_s + d[:, None] * v_d, mask=j[None, :] < kv_len, other=0.0
        )
        hidden = (j[:, None] >= kv_len) | (i[None, :] >= q_len)
        if CAUSAL:
            hidden = hidden | (j[:, None] + q_len > i[None, :] + kv_len)
        s = tl.where(hidden, -float("inf"), tl.dot(keys, queries, input_precision="ieee") * scale)
        m_new = tl.maximum(m, tl.max(s, axis=0))
        base = tl.where(m_new > -float("inf"), m_new, 0.0)
        p = tl.exp(s - base[None, :])
        fade = tl.exp(m - base)
        l = l * fade + tl.sum(p, axis=0)
        acc = acc * fade[None, :] + tl.dot(values, p.to(values.dtype), input_precision="ieee")
        m = m_new
    out = acc / tl.where(l > 0.0, l, 1.0)[None, :]
    tl.store(o + b * o_b + h * o_h + i[None, :] * o_s + d[:, None] * o_d, out, mask=i[None, :] < q_len)


def attention(q, k, v, causal):
    batch, heads, q_len, depth = q.shape
    o = q.new_empty(q.shape)
    attention_kernel[(triton.cdiv(q_len, 16), batch * heads)](
        q, k, v, o, heads, q_len, k.shape[2], *q.stride(), *k.stride(), *v.stride(), *o.stride(),
        depth**-0.5, CAUSAL=causal, D=depth, BLOCK_Q=16, BLOCK_K=64,
    )  # fmt: skip
    return o
