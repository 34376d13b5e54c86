"""From the last tile to the first, scores as keys × queries, natural base."""

import torch
import triton
import triton.language as tl


@triton.jit
def attention_kernel(
    q, k, v, o, heads, q_len, kv_len,
    q_b, q_h, q_s, q_d, k_b, k_h, k_s, k_d, v_b, v_h, v_s, v_d, o_b, o_h, o_s, o_d,
    scale, D: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):  # fmt: skip
    b, h = tl.program_id(1) // heads, tl.program_id(1) % heads
    i = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    d = tl.arange(0, D)
    queries = tl.load(
        q + b * q_b + h * q_h + i[None, :] * q_s + d[:, None] * q_d, mask=i[None, :] < q_len, other=0.0
    )
    m = tl.full((BLOCK_M,), -float("inf"), tl.float32)
    l = tl.zeros((BLOCK_M,), tl.float32)
    acc = tl.zeros((D, BLOCK_M), tl.float32)
    tiles = tl.cdiv(kv_len, BLOCK_N)
    for back in range(tiles):
        j = (tiles - 1 - back) * BLOCK_N + tl.arange(0, BLOCK_N)
        here = j < kv_len
        keys = tl.load(k + b * k_b + h * k_h + j[:, None] * k_s + d[None, :] * k_d, mask=here[:, None], other=0.0)
        values = tl.load(v + b * v_b + h * v_h + j[None, :] * v_s + d[:, None] * v_d, mask=here[None, :], other=0.0)
        s = tl.dot(keys, queries, input_precision="ieee") * scale
        s = tl.where(here[:, None], s, -float("inf"))
        top = tl.maximum(m, tl.max(s, axis=0))
        p = tl.exp(s - top[None, :])
        l = l * tl.exp(m - top) + tl.sum(p, axis=0)
        acc = acc * tl.exp(m - top)[None, :]
        acc = tl.dot(values, p.to(values.dtype), acc, input_precision="ieee")
        m = top
    tl.store(o + b * o_b + h * o_h + i[None, :] * o_s + d[:, None] * o_d, acc / l[None, :], mask=i[None, :] < q_len)


def attention(q, k, v):
    batch, heads, q_len, depth = q.shape
    o = torch.empty(q.shape, dtype=q.dtype, device=q.device)
    attention_kernel[(triton.cdiv(q_len, 16), batch * heads)](
        q, k, v, o, heads, q_len, k.shape[2], *q.stride(), *k.stride(), *v.stride(), *o.stride(),
        depth**-0.5, D=depth, BLOCK_M=16, BLOCK_N=32,
    )  # fmt: skip
    return o
