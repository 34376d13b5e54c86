"""One program per key head, but it goes over the cache once for each of its query heads.

ask: The numbers are right. When a group has eight query heads, how often is one key loaded, and how often must it be?
expect: rule_broken
"""

import torch
import triton
import triton.language as tl


@triton.jit
def decode_kernel(
    q, k, v, o, group, kv_len,
    q_h, q_d, k_h, k_s, k_d, v_h, v_s, v_d, o_h, o_d,
    scale, D: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    kv = tl.program_id(0)
    d = tl.arange(0, D)
    for head in range(kv * group, kv * group + group):
        query = tl.load(q + head * q_h + d * q_d).to(tl.float32)
        m = -float("inf")
        l = 0.0
        acc = tl.zeros((D,), tl.float32)
        for start in range(0, kv_len, BLOCK):
            cols = start + tl.arange(0, BLOCK)
            inside = cols < kv_len
            key = tl.load(k + kv * k_h + cols[:, None] * k_s + d[None, :] * k_d, mask=inside[:, None], other=0.0)
            value = tl.load(v + kv * v_h + cols[:, None] * v_s + d[None, :] * v_d, mask=inside[:, None], other=0.0)
            s = tl.sum(key.to(tl.float32) * query[None, :], axis=1) * scale
            s = tl.where(inside, s, -float("inf"))
            m_new = tl.maximum(m, tl.max(s, axis=0))
            p = tl.exp(s - m_new)
            alpha = tl.exp(m - m_new)
            l = l * alpha + tl.sum(p, axis=0)
            acc = acc * alpha + tl.sum(p[:, None] * value.to(tl.float32), axis=0)
            m = m_new
        tl.store(o + head * o_h + d * o_d, acc / l)


def decode(q, k, v):
    heads, depth = q.shape
    o = torch.empty(q.shape, dtype=q.dtype, device=q.device)
    decode_kernel[(k.shape[0],)](
        q, k, v, o, heads // k.shape[0], k.shape[1], *q.stride(), *k.stride(), *v.stride(), *o.stride(),
        depth**-0.5, D=depth, BLOCK=32,
    )  # fmt: skip
    return o
