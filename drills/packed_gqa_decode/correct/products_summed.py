"""No tl.dot: products of a group × keys × columns block, summed. Two key heads a program.

A GPU's compiler makes a tf32 matrix product of broadcast tiles that are multiplied and summed, but not of fma.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def decode_kernel(
    q, k, v, o, group, kv_len,
    q_h, q_d, k_h, k_s, k_d, v_h, v_s, v_d, o_h, o_d,
    kv_heads, scale, D: tl.constexpr, ROWS: tl.constexpr, TILE: tl.constexpr,
):  # fmt: skip
    g = tl.arange(0, ROWS)
    d = tl.arange(0, D)
    for kv in range(tl.program_id(0), kv_heads, tl.num_programs(0)):
        at = (kv * group + g)[:, None]
        query = tl.load(q + at * q_h + d[None, :] * q_d, mask=(g < group)[:, None], other=0.0).to(tl.float32)
        m = tl.full((ROWS,), -float("inf"), tl.float32)
        l = tl.zeros((ROWS,), tl.float32)
        acc = tl.zeros((ROWS, D), tl.float32)
        for start in range(0, kv_len, TILE):
            j = start + tl.arange(0, TILE)
            here = (j < kv_len)[:, None]
            key = tl.load(k + kv * k_h + j[:, None] * k_s + d[None, :] * k_d, mask=here, other=0.0).to(tl.float32)
            value = tl.load(v + kv * v_h + j[:, None] * v_s + d[None, :] * v_d, mask=here, other=0.0)
            s = tl.sum(tl.fma(query[:, None, :], key[None, :, :], 0.0), axis=2) * scale
            s = tl.where((j < kv_len)[None, :], s, -float("inf"))
            top = tl.maximum(m, tl.max(s, axis=1))
            p = tl.exp(s - top[:, None])
            l = l * tl.exp(m - top) + tl.sum(p, axis=1)
            share = tl.sum(tl.fma(p[:, :, None], value.to(tl.float32)[None, :, :], 0.0), axis=1)
            acc = acc * tl.exp(m - top)[:, None] + share
            m = top
        tl.store(o + at * o_h + d[None, :] * o_d, acc / l[:, None], mask=(g < group)[:, None])


def decode(q, k, v):
    heads, depth = q.shape
    kv_heads = k.shape[0]
    group = heads // kv_heads
    o = torch.empty(q.shape, dtype=q.dtype, device=q.device)
    decode_kernel[(triton.cdiv(kv_heads, 2),)](
        q, k, v, o, group, k.shape[1], *q.stride(), *k.stride(), *v.stride(), *o.stride(),
        kv_heads, depth**-0.5, D=depth, ROWS=triton.next_power_of_2(group), TILE=16,
    )  # fmt: skip
    return o
