"""All keys of a head in one tile, padded to a power of two: no state, no rescale."""

import torch
import triton
import triton.language as tl


@triton.jit
def attention_kernel(
    q, k, v, o, heads, q_len, kv_len,
    q_b, q_h, q_s, q_d, k_b, k_h, k_s, k_d, v_b, v_h, v_s, v_d, o_b, o_h, o_s, o_d,
    scale, CAUSAL: tl.constexpr, D: tl.constexpr, BLOCK_M: tl.constexpr, WIDTH: tl.constexpr,
):  # fmt: skip
    b, h = tl.program_id(1) // heads, tl.program_id(1) % heads
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = tl.arange(0, WIDTH)
    d = tl.arange(0, D)
    query = tl.load(
        q + b * q_b + h * q_h + rows[:, None] * q_s + d[None, :] * q_d, mask=rows[:, None] < q_len, other=0.0
    )
    key = tl.load(
        k + b * k_b + h * k_h + cols[None, :] * k_s + d[:, None] * k_d, mask=cols[None, :] < kv_len, other=0.0
    )
    value = tl.load(
        v + b * v_b + h * v_h + cols[:, None] * v_s + d[None, :] * v_d, mask=cols[:, None] < kv_len, other=0.0
    )
    seen = cols[None, :] < kv_len
    if CAUSAL:
        seen = seen & (cols[None, :] <= rows[:, None] + (kv_len - q_len))
    s = tl.where(seen, tl.dot(query, key, input_precision="ieee") * scale, -float("inf"))
    m = tl.max(s, axis=1)
    p = tl.exp(s - tl.where(m == -float("inf"), 0.0, m)[:, None])
    l = tl.sum(p, axis=1)
    p = p / tl.where(l > 0.0, l, 1.0)[:, None]
    out = tl.dot(p.to(value.dtype), value, input_precision="ieee")
    tl.store(o + b * o_b + h * o_h + rows[:, None] * o_s + d[None, :] * o_d, out, mask=rows[:, None] < q_len)


def attention(q, k, v, causal):
    batch, heads, q_len, depth = q.shape
    o = torch.empty(q.shape, dtype=q.dtype, device=q.device)
    width = max(16, triton.next_power_of_2(k.shape[2]))
    attention_kernel[(triton.cdiv(q_len, 16), batch * heads)](
        q, k, v, o, heads, q_len, k.shape[2], *q.stride(), *k.stride(), *v.stride(), *o.stride(),
        depth**-0.5, CAUSAL=causal, D=depth, BLOCK_M=16, WIDTH=width,
    )  # fmt: skip
    return o
