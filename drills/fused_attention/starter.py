"""Fused attention: a start that runs.

It takes 16 queries a program and the first 16 keys, and is right as long as there are no more keys than that, the
scores are moderate and nothing is masked. It does not go on to a second tile, it does not subtract the maximum, and
it knows nothing of `causal`: see what the verdict says, then change it.
"""

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
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = tl.arange(0, BLOCK_N)
    d = tl.arange(0, D)
    queries = tl.load(
        q + b * q_b + h * q_h + rows[:, None] * q_s + d[None, :] * q_d, mask=rows[:, None] < q_len, other=0.0
    )
    keys = tl.load(
        k + b * k_b + h * k_h + cols[None, :] * k_s + d[:, None] * k_d, mask=cols[None, :] < kv_len, other=0.0
    )
    scores = tl.dot(queries, keys, input_precision="ieee") * scale
    weights = tl.exp(tl.where(cols[None, :] < kv_len, scores, -float("inf")))
    values = tl.load(
        v + b * v_b + h * v_h + cols[:, None] * v_s + d[None, :] * v_d, mask=cols[:, None] < kv_len, other=0.0
    )
    out = tl.dot(weights.to(values.dtype), values, input_precision="ieee") / tl.sum(weights, axis=1)[:, None]
    tl.store(o + b * o_b + h * o_h + rows[:, None] * o_s + d[None, :] * o_d, out, mask=rows[:, None] < q_len)


def attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool) -> torch.Tensor:
    batch, heads, q_len, depth = q.shape
    kv_len = k.shape[2]
    o = torch.empty(q.shape, dtype=q.dtype, device=q.device)
    attention_kernel[(triton.cdiv(q_len, 16), batch * heads)](
        q, k, v, o, heads, q_len, kv_len, *q.stride(), *k.stride(), *v.stride(), *o.stride(),
        depth**-0.5, D=depth, BLOCK_M=16, BLOCK_N=16,
    )  # fmt: skip
    return o
