"""Attention forward, three ways: scores in memory, the first fused loop order, the second.

What: ``o_i = Σ_j p_ij v_j``, ``p = softmax(s)``, ``s_ij = q_i·k_j / √D`` over the keys that query i sees.
Causal means aligned at the bottom right: key j is seen for ``j ≤ i + (Sk − Sq)``. Query head h reads key head
``h // (Hq / Hkv)``. A query that sees no key gives zeros and a log-sum-exp of −∞.

Work: 4·Sq·Sk·D FLOPs a head in all three (half with a square causal mask, where hidden tiles are skipped).
Bytes for one head, S = Sq = Sk, elements of b bytes, tiles of M queries and N keys:

    naive            4·4·S² + 4·S·D·b             fp32 scores written, read, written as weights, read again
    first_version    4·S·D·b + 8·S·(D + 2)·S/N    the fp32 state of every query read and written per key tile
    second_version   2·S·D·b + 2·S·D·b·S/M        keys and values read for each query tile, mostly out of L2

Why each step pays. `first_version` never writes scores: maximum m, sum l and accumulator of a query make the
result exact tile by tile. With keys in the outer loop that state has to leave the chip between key tiles.
`second_version` turns the loops around: a program owns a tile of queries, its state lives in registers from the
first key to the last, and programs need nothing of each other, so there are as many of them as query tiles. It
divides once, at the end, instead of in every step, and skips tiles that the mask hides whole.

Sources: T. Dao et al., FlashAttention, 2022, arXiv:2205.14135 (algorithm 1: first order). T. Dao,
FlashAttention-2, 2023, arXiv:2307.08691 (section 3.1: the second).
"""

import torch
import triton
import triton.language as tl


@triton.jit
def scores_kernel(
    q, k, s, heads, group, q_len, kv_len, q_b, q_h, q_s, q_d, k_b, k_h, k_s, k_d,
    scale, CAUSAL: tl.constexpr, D: tl.constexpr, TILE: tl.constexpr,
):  # fmt: skip
    """One tile of scores a program, written to memory: s ``[B·Hq, Sq, Sk]`` fp32."""
    pair = tl.program_id(2)
    b, h = pair // heads, pair % heads
    i = tl.program_id(0) * TILE + tl.arange(0, TILE)
    j = tl.program_id(1) * TILE + tl.arange(0, TILE)
    d = tl.arange(0, D)
    query = tl.load(q + b * q_b + h * q_h + i[:, None] * q_s + d[None, :] * q_d, mask=i[:, None] < q_len, other=0.0)
    key = tl.load(
        k + b * k_b + h // group * k_h + j[None, :] * k_s + d[:, None] * k_d, mask=j[None, :] < kv_len, other=0.0
    )
    score = tl.dot(query, key, input_precision="ieee") * scale
    if CAUSAL:
        score = tl.where(j[None, :] <= i[:, None] + (kv_len - q_len), score, -float("inf"))
    at = s + (pair.to(tl.int64) * q_len + i[:, None]) * kv_len + j[None, :]
    tl.store(at, score, mask=(i[:, None] < q_len) & (j[None, :] < kv_len))


@triton.jit
def softmax_kernel(s, lse, kv_len, WIDTH: tl.constexpr):
    """One row of scores a program, turned into weights where it lies."""
    row = tl.program_id(0).to(tl.int64)
    j = tl.arange(0, WIDTH)
    x = tl.load(s + row * kv_len + j, mask=j < kv_len, other=-float("inf"))
    m = tl.max(x, axis=0)
    p = tl.exp(x - tl.where(m == -float("inf"), 0.0, m))
    total = tl.sum(p, axis=0)
    some = tl.where(total > 0.0, total, 1.0)
    tl.store(s + row * kv_len + j, p / some, mask=j < kv_len)
    tl.store(lse + row, m + tl.log(some))


@triton.jit
def values_kernel(
    s, v, o, heads, group, q_len, kv_len, v_b, v_h, v_s, v_d, o_b, o_h, o_s, o_d,
    D: tl.constexpr, TILE: tl.constexpr,
):  # fmt: skip
    """One tile of results a program: weights times values."""
    pair = tl.program_id(1)
    b, h = pair // heads, pair % heads
    i = tl.program_id(0) * TILE + tl.arange(0, TILE)
    d = tl.arange(0, D)
    acc = tl.zeros((TILE, D), tl.float32)
    for start in range(0, kv_len, TILE):
        j = start + tl.arange(0, TILE)
        at = s + (pair.to(tl.int64) * q_len + i[:, None]) * kv_len + j[None, :]
        p = tl.load(at, mask=(i[:, None] < q_len) & (j[None, :] < kv_len), other=0.0)
        value = tl.load(
            v + b * v_b + h // group * v_h + j[:, None] * v_s + d[None, :] * v_d,
            mask=j[:, None] < kv_len,
            other=0.0,
        )
        acc += tl.dot(p, value.to(tl.float32), input_precision="ieee")
    tl.store(o + b * o_b + h * o_h + i[:, None] * o_s + d[None, :] * o_d, acc, mask=i[:, None] < q_len)


@triton.jit
def add_tile(m, l, acc, query, k, v, i, start, q_len, kv_len, k_s, k_d, v_s, v_d, scale,
             CAUSAL: tl.constexpr, D: tl.constexpr, TILE_K: tl.constexpr):  # fmt: skip
    """What a tile of queries knows after one more tile of keys: maximum m, and sum l and acc relative to it."""
    j = start + tl.arange(0, TILE_K)
    d = tl.arange(0, D)
    key = tl.load(k + j[None, :] * k_s + d[:, None] * k_d, mask=j[None, :] < kv_len, other=0.0)
    value = tl.load(v + j[:, None] * v_s + d[None, :] * v_d, mask=j[:, None] < kv_len, other=0.0)
    seen = j[None, :] < kv_len
    if CAUSAL:
        seen = seen & (j[None, :] <= i[:, None] + (kv_len - q_len))
    s = tl.where(seen, tl.dot(query, key, input_precision="ieee") * scale, -float("inf"))
    m_new = tl.maximum(m, tl.max(s, axis=1))
    base = tl.where(m_new == -float("inf"), 0.0, m_new)  # a query that has seen nothing yet: −∞ − −∞ would be NaN
    p = tl.exp(s - base[:, None])
    rescale = tl.exp(m - base)
    l = l * rescale + tl.sum(p, axis=1)
    acc = acc * rescale[:, None] + tl.dot(p.to(value.dtype), value, input_precision="ieee")
    return m_new, l, acc


@triton.jit
def first_version_kernel(
    q, k, v, o, lse, m_at, l_at, acc_at, heads, group, q_len, kv_len,
    q_b, q_h, q_s, q_d, k_b, k_h, k_s, k_d, v_b, v_h, v_s, v_d, o_b, o_h, o_s, o_d,
    scale, CAUSAL: tl.constexpr, D: tl.constexpr, TILE_Q: tl.constexpr, TILE_K: tl.constexpr,
):  # fmt: skip
    """A head a program. Keys outside, queries inside: the state of every query goes to memory between key tiles."""
    pair = tl.program_id(0)
    b, h = pair // heads, pair % heads
    d = tl.arange(0, D)
    k += b * k_b + h // group * k_h
    v += b * v_b + h // group * v_h
    for start in range(0, kv_len, TILE_K):
        for top in range(0, q_len, TILE_Q):
            i = top + tl.arange(0, TILE_Q)
            live = i < q_len
            query = tl.load(
                q + b * q_b + h * q_h + i[:, None] * q_s + d[None, :] * q_d, mask=live[:, None], other=0.0
            )
            row = pair.to(tl.int64) * q_len + i
            cell = row[:, None] * D + d[None, :]
            begun = start > 0
            m = tl.load(m_at + row, mask=live & begun, other=-float("inf"))
            l = tl.load(l_at + row, mask=live & begun, other=0.0)
            acc = tl.load(acc_at + cell, mask=live[:, None] & begun, other=0.0)
            m, l, acc = add_tile(
                m, l, acc, query, k, v, i, start, q_len, kv_len, k_s, k_d, v_s, v_d, scale, CAUSAL, D, TILE_K
            )
            tl.store(m_at + row, m, mask=live)
            tl.store(l_at + row, l, mask=live)
            tl.store(acc_at + cell, acc, mask=live[:, None])
            if start + TILE_K >= kv_len:  # the last key tile: the state is complete
                some = tl.where(l > 0.0, l, 1.0)
                at = o + b * o_b + h * o_h + i[:, None] * o_s + d[None, :] * o_d
                tl.store(at, acc / some[:, None], mask=live[:, None])
                tl.store(lse + row, m + tl.log(some), mask=live)
        tl.debug_barrier()  # what one thread has stored another may load in the next round


@triton.jit
def second_version_kernel(
    q, k, v, o, lse, heads, group, q_len, kv_len,
    q_b, q_h, q_s, q_d, k_b, k_h, k_s, k_d, v_b, v_h, v_s, v_d, o_b, o_h, o_s, o_d,
    scale, CAUSAL: tl.constexpr, D: tl.constexpr, TILE_Q: tl.constexpr, TILE_K: tl.constexpr,
):  # fmt: skip
    """A tile of queries a program. Queries outside, keys inside: the state stays in registers."""
    pair = tl.program_id(1)
    b, h = pair // heads, pair % heads
    i = tl.program_id(0) * TILE_Q + tl.arange(0, TILE_Q)
    d = tl.arange(0, D)
    k += b * k_b + h // group * k_h
    v += b * v_b + h // group * v_h
    query = tl.load(q + b * q_b + h * q_h + i[:, None] * q_s + d[None, :] * q_d, mask=i[:, None] < q_len, other=0.0)
    m = tl.full((TILE_Q,), -float("inf"), tl.float32)
    l = tl.zeros((TILE_Q,), tl.float32)
    acc = tl.zeros((TILE_Q, D), tl.float32)
    end = kv_len
    if CAUSAL:  # no query of this tile sees a key beyond what its last one sees
        end = tl.minimum(kv_len, (tl.program_id(0) + 1) * TILE_Q + (kv_len - q_len))
    for start in range(0, end, TILE_K):
        m, l, acc = add_tile(
            m, l, acc, query, k, v, i, start, q_len, kv_len, k_s, k_d, v_s, v_d, scale, CAUSAL, D, TILE_K
        )
    some = tl.where(l > 0.0, l, 1.0)
    at = o + b * o_b + h * o_h + i[:, None] * o_s + d[None, :] * o_d
    tl.store(at, acc / some[:, None], mask=i[:, None] < q_len)
    tl.store(lse + pair.to(tl.int64) * q_len + i, m + tl.log(some), mask=i < q_len)


def naive(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """Scores and weights in memory.

    q ``[B, Hq, Sq, D]``, k and v ``[B, Hkv, Sk, D]``, any strides, D in 16, 32, 64, 128. Returns o ``[B, Hq,
    Sq, D]`` in the type of q and the natural log-sum-exp ``[B, Hq, Sq]`` in fp32.
    """
    batch, heads, q_len, depth = q.shape
    kv_len, group = k.shape[2], heads // k.shape[1]
    o, lse = _results(q)
    s = torch.empty((batch, heads, q_len, kv_len), dtype=torch.float32, device=q.device)
    tiles = triton.cdiv(q_len, 32)
    scores_kernel[(tiles, triton.cdiv(kv_len, 32), batch * heads)](
        q, k, s, heads, group, q_len, kv_len, *q.stride(), *k.stride(), depth**-0.5, CAUSAL=causal, D=depth, TILE=32
    )
    softmax_kernel[(batch * heads * q_len,)](s, lse, kv_len, WIDTH=triton.next_power_of_2(kv_len))
    values_kernel[(tiles, batch * heads)](
        s, v, o, heads, group, q_len, kv_len, *v.stride(), *o.stride(), D=depth, TILE=32
    )
    return o, lse


def first_version(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    """Fused, keys in the outer loop, state in memory. Arguments and results as in `naive`."""
    batch, heads, q_len, depth = q.shape
    o, lse = _results(q)
    m, l = torch.empty((2, batch * heads * q_len), dtype=torch.float32, device=q.device)
    acc = torch.empty((batch * heads * q_len, depth), dtype=torch.float32, device=q.device)
    first_version_kernel[(batch * heads,)](
        q, k, v, o, lse, m, l, acc, heads, heads // k.shape[1], q_len, k.shape[2],
        *q.stride(), *k.stride(), *v.stride(), *o.stride(),
        depth**-0.5, CAUSAL=causal, D=depth, TILE_Q=32, TILE_K=32,
    )  # fmt: skip
    return o, lse


def second_version(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    """Fused, queries in the outer loop, state in registers. Arguments and results as in `naive`."""
    batch, heads, q_len, depth = q.shape
    o, lse = _results(q)
    second_version_kernel[(triton.cdiv(q_len, 64), batch * heads)](
        q, k, v, o, lse, heads, heads // k.shape[1], q_len, k.shape[2],
        *q.stride(), *k.stride(), *v.stride(), *o.stride(),
        depth**-0.5, CAUSAL=causal, D=depth, TILE_Q=64, TILE_K=32,
    )  # fmt: skip
    return o, lse


def _results(q: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.empty(q.shape, dtype=q.dtype, device=q.device), torch.empty(
        q.shape[:3], dtype=torch.float32, device=q.device
    )
