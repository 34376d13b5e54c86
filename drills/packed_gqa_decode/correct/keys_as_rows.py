"""Scores as keys × heads, base two, the accumulator D × heads."""

import torch
import triton
import triton.language as tl


@triton.jit
def decode_kernel(
    q, k, v, o, group, kv_len,
    q_h, q_d, k_h, k_s, k_d, v_h, v_s, v_d, o_h, o_d,
    scale, D: tl.constexpr, COLUMNS: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    kv = tl.program_id(0)
    g = tl.arange(0, COLUMNS)
    d = tl.arange(0, D)
    queries = tl.load(q + (kv * group + g)[None, :] * q_h + d[:, None] * q_d, mask=(g < group)[None, :], other=0.0)
    m = tl.full((COLUMNS,), -float("inf"), tl.float32)
    l = tl.zeros((COLUMNS,), tl.float32)
    acc = tl.zeros((D, COLUMNS), tl.float32)
    for tile in range(tl.cdiv(kv_len, BLOCK)):
        j = tile * BLOCK + tl.arange(0, BLOCK)
        keys = tl.load(k + kv * k_h + j[:, None] * k_s + d[None, :] * k_d, mask=(j < kv_len)[:, None], other=0.0)
        values = tl.load(v + kv * v_h + j[None, :] * v_s + d[:, None] * v_d, mask=(j < kv_len)[None, :], other=0.0)
        s = tl.dot(keys, queries, input_precision="ieee") * (scale * 1.4426950408889634)
        s = tl.where((j < kv_len)[:, None], s, -float("inf"))
        top = tl.maximum(m, tl.max(s, axis=0))
        p = tl.exp2(s - top[None, :])
        l = l * tl.exp2(m - top) + tl.sum(p, axis=0)
        acc = tl.dot(values, p.to(values.dtype), acc * tl.exp2(m - top)[None, :], input_precision="ieee")
        m = top
    at = o + (kv * group + g)[None, :] * o_h + d[:, None] * o_d
    tl.store(at, acc / l[None, :], mask=(g < group)[None, :])


def decode(q, k, v):
    heads, depth = q.shape
    group = heads // k.shape[0]
    o = torch.empty(q.shape, dtype=q.dtype, device=q.device)
    decode_kernel[(k.shape[0],)](
        q, k, v, o, group, k.shape[1], *q.stride(), *k.stride(), *v.stride(), *o.stride(),
        depth**-0.5, D=depth, COLUMNS=max(16, triton.next_power_of_2(group)), BLOCK=32,
    )  # fmt: skip
    return o
