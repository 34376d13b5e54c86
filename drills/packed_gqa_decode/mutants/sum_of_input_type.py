"""The sum of the weights is rounded to the type of the queries after each tile.

ask: Right in fp32, and off in half precision where many small weights follow a large one. What becomes of 1 + 0.0004 in the type of your sum?
expect: wrong_answer
"""

import torch
import triton
import triton.language as tl


@triton.jit
def decode_kernel(
    q, k, v, o, group, kv_len,
    q_h, q_d, k_h, k_s, k_d, v_h, v_s, v_d, o_h, o_d,
    scale, D: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    kv = tl.program_id(0)
    rows = tl.arange(0, ROWS)
    heads = kv * group + rows
    mine = rows < group
    d = tl.arange(0, D)
    query = tl.load(q + heads[:, None] * q_h + d[None, :] * q_d, mask=mine[:, None], other=0.0)
    m = tl.full((ROWS,), -float("inf"), tl.float32)
    l = tl.zeros((ROWS,), tl.float32)
    acc = tl.zeros((ROWS, D), tl.float32)
    for start in range(0, kv_len, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        inside = cols < kv_len
        key = tl.load(k + kv * k_h + cols[None, :] * k_s + d[:, None] * k_d, mask=inside[None, :], other=0.0)
        value = tl.load(v + kv * v_h + cols[:, None] * v_s + d[None, :] * v_d, mask=inside[:, None], other=0.0)
        s = tl.dot(query, key, input_precision="ieee") * scale
        s = tl.where(inside[None, :], s, -float("inf"))
        m_new = tl.maximum(m, tl.max(s, axis=1))
        p = tl.exp(s - m_new[:, None])
        alpha = tl.exp(m - m_new)
        l = (l * alpha + tl.sum(p, axis=1)).to(q.dtype.element_ty).to(tl.float32)
        acc = acc * alpha[:, None] + tl.dot(p.to(value.dtype), value, input_precision="ieee")
        m = m_new
    tl.store(o + heads[:, None] * o_h + d[None, :] * o_d, acc / l[:, None], mask=mine[:, None])


def decode(q, k, v):
    heads, depth = q.shape
    kv_heads, kv_len, _ = k.shape
    group = heads // kv_heads
    o = torch.empty(q.shape, dtype=q.dtype, device=q.device)
    decode_kernel[(kv_heads,)](
        q, k, v, o, group, kv_len, *q.stride(), *k.stride(), *v.stride(), *o.stride(),
        depth**-0.5, D=depth, ROWS=max(16, triton.next_power_of_2(group)), BLOCK=16,
    )  # fmt: skip
    return o
