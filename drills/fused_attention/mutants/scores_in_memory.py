"""Three kernels: scores to memory, softmax in place, weights times values. Right, and the buffer has Sq × Sk elements.

ask: How many bytes does your largest buffer take at 8,192 tokens, and how often do they go to memory and back?
expect: rule_broken
"""

import torch
import triton
import triton.language as tl


@triton.jit
def scores_kernel(
    q, k, s, heads, q_len, kv_len, q_b, q_h, q_s, q_d, k_b, k_h, k_s, k_d,
    scale, CAUSAL: tl.constexpr, D: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    pair = tl.program_id(2)
    b, h = pair // heads, pair % heads
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    cols = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    d = tl.arange(0, D)
    query = tl.load(
        q + b * q_b + h * q_h + rows[:, None] * q_s + d[None, :] * q_d, mask=rows[:, None] < q_len, other=0.0
    )
    key = tl.load(
        k + b * k_b + h * k_h + cols[None, :] * k_s + d[:, None] * k_d, mask=cols[None, :] < kv_len, other=0.0
    )
    score = tl.dot(query, key, input_precision="ieee") * scale
    if CAUSAL:
        score = tl.where(cols[None, :] <= rows[:, None] + kv_len - q_len, score, -float("inf"))
    inside = (rows[:, None] < q_len) & (cols[None, :] < kv_len)
    tl.store(s + (pair * q_len + rows[:, None]) * kv_len + cols[None, :], score, mask=inside)


@triton.jit
def softmax_kernel(s, kv_len, WIDTH: tl.constexpr):
    at = s + tl.program_id(0) * kv_len + tl.arange(0, WIDTH)
    inside = tl.arange(0, WIDTH) < kv_len
    x = tl.load(at, mask=inside, other=-float("inf"))
    top = tl.max(x, axis=0)
    p = tl.exp(x - tl.where(top == -float("inf"), 0.0, top))
    total = tl.sum(p, axis=0)
    tl.store(at, p / tl.where(total > 0.0, total, 1.0), mask=inside)


@triton.jit
def values_kernel(
    s, v, o, heads, q_len, kv_len, v_b, v_h, v_s, v_d, o_b, o_h, o_s, o_d, D: tl.constexpr, BLOCK: tl.constexpr
):
    pair = tl.program_id(1)
    b, h = pair // heads, pair % heads
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    d = tl.arange(0, D)
    acc = tl.zeros((BLOCK, D), tl.float32)
    for start in range(0, kv_len, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        inside = (rows[:, None] < q_len) & (cols[None, :] < kv_len)
        p = tl.load(s + (pair * q_len + rows[:, None]) * kv_len + cols[None, :], mask=inside, other=0.0)
        value = tl.load(
            v + b * v_b + h * v_h + cols[:, None] * v_s + d[None, :] * v_d, mask=cols[:, None] < kv_len, other=0.0
        )
        acc += tl.dot(p, value.to(tl.float32), input_precision="ieee")
    tl.store(o + b * o_b + h * o_h + rows[:, None] * o_s + d[None, :] * o_d, acc, mask=rows[:, None] < q_len)


def attention(q, k, v, causal):
    batch, heads, q_len, depth = q.shape
    kv_len = k.shape[2]
    o = torch.empty(q.shape, dtype=q.dtype, device=q.device)
    s = torch.empty((batch, heads, q_len, kv_len), dtype=torch.float32, device=q.device)
    tiles = triton.cdiv(q_len, 16)
    scores_kernel[(tiles, triton.cdiv(kv_len, 16), batch * heads)](
        q, k, s, heads, q_len, kv_len, *q.stride(), *k.stride(), depth**-0.5, CAUSAL=causal, D=depth, BLOCK=16
    )
    softmax_kernel[(batch * heads * q_len,)](s, kv_len, WIDTH=triton.next_power_of_2(kv_len))
    values_kernel[(tiles, batch * heads)](
        s, v, o, heads, q_len, kv_len, *v.stride(), *o.stride(), D=depth, BLOCK=16
    )
    return o
