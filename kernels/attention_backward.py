"""Attention backward: gradients of q, k and v from tiles, with nothing of size Sq × Sk in memory.

What: the forward pass keeps the result o and one number a query, ``L_i = log Σ_j exp(s_ij)``. From them any
tile of weights comes back: ``p_ij = exp(s_ij − L_i)``. With the gradient do of the result:

    dv_j  = Σ_i p_ij do_i
    dp_ij = do_i · v_j
    Δ_i   = do_i · o_i                     stands for Σ_j p_ij dp_ij: a sum over D instead of over all keys
    ds_ij = p_ij (dp_ij − Δ_i)
    dq_i  = Σ_j ds_ij k_j / √D             dk_j = Σ_i ds_ij q_i / √D

Work: five products of 2·Sq·Sk·D FLOPs a head against two in the forward pass (half of that with a square causal
mask). The two kernels here compute s and dp each for themselves, so they do seven. Bytes: a few reads of q, k,
v, o, do and one write of each gradient; the weights, Sq·Sk elements a head, are never stored. At 8,192 tokens,
32 heads and 2 bytes they would be 4 GiB a layer and sequence.

Why recomputing pays: kept weights are 2·Sq·Sk bytes a head, written once and read by both kernels, 6 bytes an
element; computing one again is 2·D FLOPs. At D = 128 that is 43 FLOPs for each byte saved, far below what a GPU can
do in the time of a byte (295 for bf16 on an H100), and nothing of size Sq × Sk is in memory.

Why two kernels: dk and dv of a key tile are sums over queries, dq of a query tile is a sum over keys. One
kernel for both has to add to dq from many programs (atomics, in no fixed order) or to wait; two kernels pay two
products more and give the same bits in every run.

Grouped heads: the query heads of a group add to the same dk and dv, inside one program. Causal is aligned at
the bottom right. A query that sees no key has L = −∞ and no part in any gradient.

Source: T. Dao et al., FlashAttention, 2022, arXiv:2205.14135 (appendix B.2 to B.4); FlashAttention-2, 2023,
arXiv:2307.08691 (algorithm 2).
"""

import torch
import triton
import triton.language as tl


@triton.jit
def delta_kernel(
    o, do, delta, heads, q_len, o_b, o_h, o_s, o_d, g_b, g_h, g_s, g_d, D: tl.constexpr, TILE: tl.constexpr
):
    """Δ for one tile of queries: the products of o and do, summed over D."""
    pair = tl.program_id(1)
    b, h = pair // heads, pair % heads
    i = tl.program_id(0) * TILE + tl.arange(0, TILE)
    d = tl.arange(0, D)
    mask = i[:, None] < q_len
    out = tl.load(o + b * o_b + h * o_h + i[:, None] * o_s + d[None, :] * o_d, mask=mask, other=0.0)
    grad = tl.load(do + b * g_b + h * g_h + i[:, None] * g_s + d[None, :] * g_d, mask=mask, other=0.0)
    total = tl.sum(out.to(tl.float32) * grad.to(tl.float32), axis=1)
    tl.store(delta + pair.to(tl.int64) * q_len + i, total, mask=i < q_len)


@triton.jit
def tile_of_weights(query, key, value, grad, lse, delta, i, j, q_len, kv_len, scale, CAUSAL: tl.constexpr):
    """p and ds of one tile ``[queries, keys]``, from tiles of q, do ``[queries, D]`` and k, v ``[keys, D]``."""
    seen = (i[:, None] < q_len) & (j[None, :] < kv_len)
    if CAUSAL:
        seen = seen & (j[None, :] <= i[:, None] + (kv_len - q_len))
    s = tl.dot(query, tl.trans(key), input_precision="ieee") * scale
    p = tl.where(seen, tl.exp(s - lse[:, None]), 0.0)
    dp = tl.dot(grad, tl.trans(value), input_precision="ieee")
    return p, p * (dp - delta[:, None])


@triton.jit
def rows_of(lse, delta, row, live):
    """L and Δ of a tile of queries; a query without keys gets L = 0, since its weights are masked anyway."""
    kept = tl.load(lse + row, mask=live, other=0.0)
    return tl.where(kept == -float("inf"), 0.0, kept), tl.load(delta + row, mask=live, other=0.0)


@triton.jit
def dkv_kernel(
    q, k, v, do, lse, delta, dk, dv, heads, group, q_len, kv_len,
    q_b, q_h, q_s, q_d, k_b, k_h, k_s, k_d, v_b, v_h, v_s, v_d, g_b, g_h, g_s, g_d, dk_b, dk_h, dk_s, dk_d,
    scale, CAUSAL: tl.constexpr, D: tl.constexpr, TILE_Q: tl.constexpr, TILE_K: tl.constexpr,
):  # fmt: skip
    """A tile of keys a program: adds up over the query heads of the group and over their queries."""
    kv_heads = heads // group
    b, kv = tl.program_id(1) // kv_heads, tl.program_id(1) % kv_heads
    first = tl.program_id(0) * TILE_K
    j = first + tl.arange(0, TILE_K)
    d = tl.arange(0, D)
    here = j[:, None] < kv_len
    key = tl.load(k + b * k_b + kv * k_h + j[:, None] * k_s + d[None, :] * k_d, mask=here, other=0.0)
    value = tl.load(v + b * v_b + kv * v_h + j[:, None] * v_s + d[None, :] * v_d, mask=here, other=0.0)
    key_grad = tl.zeros((TILE_K, D), tl.float32)
    value_grad = tl.zeros((TILE_K, D), tl.float32)
    begin = 0
    if CAUSAL:  # queries before this one see none of these keys
        begin = tl.maximum(0, first - (kv_len - q_len)) // TILE_Q * TILE_Q
    for h in range(kv * group, kv * group + group):
        for start in range(begin, q_len, TILE_Q):
            i = start + tl.arange(0, TILE_Q)
            live = i[:, None] < q_len
            query = tl.load(q + b * q_b + h * q_h + i[:, None] * q_s + d[None, :] * q_d, mask=live, other=0.0)
            grad = tl.load(do + b * g_b + h * g_h + i[:, None] * g_s + d[None, :] * g_d, mask=live, other=0.0)
            total, change = rows_of(lse, delta, (b * heads + h).to(tl.int64) * q_len + i, i < q_len)
            p, ds = tile_of_weights(query, key, value, grad, total, change, i, j, q_len, kv_len, scale, CAUSAL)
            value_grad += tl.dot(tl.trans(p.to(grad.dtype)), grad, input_precision="ieee")
            key_grad += tl.dot(tl.trans(ds.to(query.dtype)), query, input_precision="ieee")
    at = b * dk_b + kv * dk_h + j[:, None] * dk_s + d[None, :] * dk_d
    tl.store(dk + at, key_grad * scale, mask=here)
    tl.store(dv + at, value_grad, mask=here)


@triton.jit
def dq_kernel(
    q, k, v, do, lse, delta, dq, heads, group, q_len, kv_len,
    q_b, q_h, q_s, q_d, k_b, k_h, k_s, k_d, v_b, v_h, v_s, v_d, g_b, g_h, g_s, g_d, dq_b, dq_h, dq_s, dq_d,
    scale, CAUSAL: tl.constexpr, D: tl.constexpr, TILE_Q: tl.constexpr, TILE_K: tl.constexpr,
):  # fmt: skip
    """A tile of queries a program: adds up over the keys that its queries see."""
    pair = tl.program_id(1)
    b, h = pair // heads, pair % heads
    i = tl.program_id(0) * TILE_Q + tl.arange(0, TILE_Q)
    d = tl.arange(0, D)
    live = i[:, None] < q_len
    query = tl.load(q + b * q_b + h * q_h + i[:, None] * q_s + d[None, :] * q_d, mask=live, other=0.0)
    grad = tl.load(do + b * g_b + h * g_h + i[:, None] * g_s + d[None, :] * g_d, mask=live, other=0.0)
    total, change = rows_of(lse, delta, pair.to(tl.int64) * q_len + i, i < q_len)
    query_grad = tl.zeros((TILE_Q, D), tl.float32)
    end = kv_len
    if CAUSAL:
        end = tl.minimum(kv_len, (tl.program_id(0) + 1) * TILE_Q + (kv_len - q_len))
    for start in range(0, end, TILE_K):
        j = start + tl.arange(0, TILE_K)
        here = j[:, None] < kv_len
        key = tl.load(k + b * k_b + h // group * k_h + j[:, None] * k_s + d[None, :] * k_d, mask=here, other=0.0)
        value = tl.load(v + b * v_b + h // group * v_h + j[:, None] * v_s + d[None, :] * v_d, mask=here, other=0.0)
        _, ds = tile_of_weights(query, key, value, grad, total, change, i, j, q_len, kv_len, scale, CAUSAL)
        query_grad += tl.dot(ds.to(key.dtype), key, input_precision="ieee")
    tl.store(dq + b * dq_b + h * dq_h + i[:, None] * dq_s + d[None, :] * dq_d, query_grad * scale, mask=live)


def backward(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    o: torch.Tensor,
    lse: torch.Tensor,
    do: torch.Tensor,
    causal: bool,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Gradients of q, k and v.

    q, o, do ``[B, Hq, Sq, D]``, k and v ``[B, Hkv, Sk, D]``, any strides, D in 16, 32, 64, 128; lse ``[B, Hq,
    Sq]`` is the natural log-sum-exp of the scaled scores, fp32 and dense, −∞ for a query that sees no key.
    Returns dq, dk and dv in the shapes and types of q, k and v.
    """
    batch, heads, q_len, depth = q.shape
    kv_heads, kv_len = k.shape[1], k.shape[2]
    group = heads // kv_heads
    dq, dk, dv = (torch.empty(part.shape, dtype=part.dtype, device=part.device) for part in (q, k, v))
    delta = torch.empty((batch, heads, q_len), dtype=torch.float32, device=q.device)
    strides = (*q.stride(), *k.stride(), *v.stride(), *do.stride())
    q_tiles, k_tiles = triton.cdiv(q_len, 32), triton.cdiv(kv_len, 32)
    delta_kernel[(q_tiles, batch * heads)](o, do, delta, heads, q_len, *o.stride(), *do.stride(), D=depth, TILE=32)
    dkv_kernel[(k_tiles, batch * kv_heads)](
        q, k, v, do, lse, delta, dk, dv, heads, group, q_len, kv_len, *strides, *dk.stride(),
        depth**-0.5, CAUSAL=causal, D=depth, TILE_Q=32, TILE_K=32,
    )  # fmt: skip
    dq_kernel[(q_tiles, batch * heads)](
        q, k, v, do, lse, delta, dq, heads, group, q_len, kv_len, *strides, *dq.stride(),
        depth**-0.5, CAUSAL=causal, D=depth, TILE_Q=32, TILE_K=32,
    )  # fmt: skip
    return dq, dk, dv
