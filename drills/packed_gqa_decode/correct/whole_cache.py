"""All keys of a key head in one tile, padded to a power of two."""

import torch
import triton
import triton.language as tl


@triton.jit
def decode_kernel(
    q, k, v, o, group, kv_len,
    q_h, q_d, k_h, k_s, k_d, v_h, v_s, v_d, o_h, o_d,
    scale, D: tl.constexpr, ROWS: tl.constexpr, WIDTH: tl.constexpr,
):  # fmt: skip
    kv = tl.program_id(0)
    g = tl.arange(0, ROWS)
    j = tl.arange(0, WIDTH)
    d = tl.arange(0, D)
    at = (kv * group + g)[:, None]
    query = tl.load(q + at * q_h + d[None, :] * q_d, mask=(g < group)[:, None], other=0.0)
    key = tl.load(k + kv * k_h + j[None, :] * k_s + d[:, None] * k_d, mask=(j < kv_len)[None, :], other=0.0)
    value = tl.load(v + kv * v_h + j[:, None] * v_s + d[None, :] * v_d, mask=(j < kv_len)[:, None], other=0.0)
    s = tl.dot(query, key, input_precision="ieee") * scale
    s = tl.where((j < kv_len)[None, :], s, -float("inf"))
    p = tl.exp(s - tl.max(s, axis=1)[:, None])
    out = tl.dot(p.to(value.dtype), value, input_precision="ieee") / tl.sum(p, axis=1)[:, None]
    tl.store(o + at * o_h + d[None, :] * o_d, out, mask=(g < group)[:, None])


def decode(q, k, v):
    heads, depth = q.shape
    group = heads // k.shape[0]
    o = torch.empty(q.shape, dtype=q.dtype, device=q.device)
    decode_kernel[(k.shape[0],)](
        q, k, v, o, group, k.shape[1], *q.stride(), *k.stride(), *v.stride(), *o.stride(),
        depth**-0.5, D=depth, ROWS=max(16, triton.next_power_of_2(group)),
        WIDTH=max(16, triton.next_power_of_2(k.shape[1])),
    )  # fmt: skip
    return o
