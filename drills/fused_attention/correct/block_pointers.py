"""Block pointers instead of addresses: the bounds check fills with zeros, the mask alone hides keys."""

import torch
import triton
import triton.language as tl


@triton.jit
def attention_kernel(
    q, k, v, o, heads, q_len, kv_len,
    q_b, q_h, q_s, q_d, k_b, k_h, k_s, k_d, v_b, v_h, v_s, v_d, o_b, o_h, o_s, o_d,
    scale, CAUSAL: tl.constexpr, D: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):  # fmt: skip
    b, h = tl.program_id(1) // heads, tl.program_id(1) % heads
    first = tl.program_id(0) * BLOCK_M
    q_at = tl.make_block_ptr(q + b * q_b + h * q_h, (q_len, D), (q_s, q_d), (first, 0), (BLOCK_M, D), (1, 0))
    k_at = tl.make_block_ptr(k + b * k_b + h * k_h, (D, kv_len), (k_d, k_s), (0, 0), (D, BLOCK_N), (0, 1))
    v_at = tl.make_block_ptr(v + b * v_b + h * v_h, (kv_len, D), (v_s, v_d), (0, 0), (BLOCK_N, D), (1, 0))
    o_at = tl.make_block_ptr(o + b * o_b + h * o_h, (q_len, D), (o_s, o_d), (first, 0), (BLOCK_M, D), (1, 0))
    query = tl.load(q_at, boundary_check=(0,), padding_option="zero")
    rows = first + tl.arange(0, BLOCK_M)
    m = tl.full((BLOCK_M,), -float("inf"), tl.float32)
    l = tl.zeros((BLOCK_M,), tl.float32)
    acc = tl.zeros((BLOCK_M, D), tl.float32)
    for start in range(0, kv_len, BLOCK_N):
        key = tl.load(k_at, boundary_check=(1,), padding_option="zero")
        value = tl.load(v_at, boundary_check=(0,), padding_option="zero")
        cols = start + tl.arange(0, BLOCK_N)
        last = kv_len - 1 + tl.zeros((BLOCK_M,), tl.int32)
        if CAUSAL:
            last = tl.minimum(last, rows + (kv_len - q_len))
        s = tl.where(
            cols[None, :] <= last[:, None], tl.dot(query, key, input_precision="ieee") * scale, -float("inf")
        )
        m_new = tl.maximum(m, tl.max(s, axis=1))
        base = tl.where(m_new == -float("inf"), 0.0, m_new)
        p = tl.exp(s - base[:, None])
        l = l * tl.exp(m - base) + tl.sum(p, axis=1)
        acc = acc * tl.exp(m - base)[:, None] + tl.dot(p.to(value.dtype), value, input_precision="ieee")
        m = m_new
        k_at = tl.advance(k_at, (0, BLOCK_N))
        v_at = tl.advance(v_at, (BLOCK_N, 0))
    out = acc / tl.where(l > 0.0, l, 1.0)[:, None]
    tl.store(o_at, out.to(o.dtype.element_ty), boundary_check=(0,))


def attention(q, k, v, causal):
    batch, heads, q_len, depth = q.shape
    o = torch.empty(q.shape, dtype=q.dtype, device=q.device)
    attention_kernel[(triton.cdiv(q_len, 32), batch * heads)](
        q, k, v, o, heads, q_len, k.shape[2], *q.stride(), *k.stride(), *v.stride(), *o.stride(),
        depth**-0.5, CAUSAL=causal, D=depth, BLOCK_M=32, BLOCK_N=16,
    )  # fmt: skip
    return o
