"""One new query against the cache, query heads in groups: a program per query head, and the group packed.

What: ``o_h = Σ_j p_hj v_gj``, ``p = softmax(q_h·k_gj / √D)``, with ``g = h // G`` and G = Hq / Hkv query heads
a key head. Work: 4·S·D FLOPs a query head, next to nothing: the time is the bytes of the cache. Bytes loaded
for a cache of b bytes an element, and FLOPs per byte loaded:

    per_head    2·Hq·S·D·b     2/b       each query head loads the keys of its key head: G times the cache
    packed      2·Hkv·S·D·b    2·G/b     a program loads a tile of keys once and multiplies it with the whole group

Why it pays: the cache is read once instead of G times. How much of the difference shows depends on what L2
catches when programs of a group run side by side; the packed kernel does not depend on luck. A group of G rows
makes a matrix product of what was a matrix-vector product, so tensor cores can do it; rows past the group are
padding, and cost nothing that matters while bytes are the limit.

One program per key head is few for a large machine: see `split_kv_decode` for more of them.

Sources: J. Ainslie et al., GQA, 2023, arXiv:2305.13245. T. Dao et al., Flash-Decoding for long-context
inference, 2023, https://crfm.stanford.edu/2023/10/12/flashdecoding.html.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def per_head_kernel(
    q, k, v, o, group, kv_len, q_h, q_d, k_h, k_s, k_d, v_h, v_s, v_d, o_h, o_d,
    scale, D: tl.constexpr, TILE: tl.constexpr,
):  # fmt: skip
    """One query head a program: sums instead of matrix products, since there is one row."""
    h = tl.program_id(0)
    k += h // group * k_h
    v += h // group * v_h
    d = tl.arange(0, D)
    query = tl.load(q + h * q_h + d * q_d).to(tl.float32) * scale
    m = -float("inf")
    l = 0.0
    acc = tl.zeros((D,), tl.float32)
    for start in range(0, kv_len, TILE):
        j = start + tl.arange(0, TILE)
        here = j < kv_len
        key = tl.load(k + j[:, None] * k_s + d[None, :] * k_d, mask=here[:, None], other=0.0).to(tl.float32)
        value = tl.load(v + j[:, None] * v_s + d[None, :] * v_d, mask=here[:, None], other=0.0).to(tl.float32)
        s = tl.where(here, tl.sum(key * query[None, :], axis=1), -float("inf"))
        m_new = tl.maximum(m, tl.max(s, axis=0))  # finite: every tile has a key
        p = tl.exp(s - m_new)
        rescale = tl.exp(m - m_new)
        l = l * rescale + tl.sum(p, axis=0)
        acc = acc * rescale + tl.sum(p[:, None] * value, axis=0)
        m = m_new
    tl.store(o + h * o_h + d * o_d, acc / l)


@triton.jit
def packed_kernel(
    q, k, v, o, group, kv_len, q_h, q_d, k_h, k_s, k_d, v_h, v_s, v_d, o_h, o_d,
    scale, D: tl.constexpr, ROWS: tl.constexpr, TILE: tl.constexpr,
):  # fmt: skip
    """One key head a program: row r of the tile is query head ``g·G + r``; heads share keys, not softmax."""
    kv = tl.program_id(0)
    r = tl.arange(0, ROWS)
    h = kv * group + r
    d = tl.arange(0, D)
    k += kv * k_h
    v += kv * v_h
    query = tl.load(q + h[:, None] * q_h + d[None, :] * q_d, mask=r[:, None] < group, other=0.0)
    m = tl.full((ROWS,), -float("inf"), tl.float32)
    l = tl.zeros((ROWS,), tl.float32)
    acc = tl.zeros((ROWS, D), tl.float32)
    for start in range(0, kv_len, TILE):
        j = start + tl.arange(0, TILE)
        here = j < kv_len
        key = tl.load(k + j[None, :] * k_s + d[:, None] * k_d, mask=here[None, :], other=0.0)
        value = tl.load(v + j[:, None] * v_s + d[None, :] * v_d, mask=here[:, None], other=0.0)
        s = tl.where(here[None, :], tl.dot(query, key, input_precision="ieee") * scale, -float("inf"))
        m_new = tl.maximum(m, tl.max(s, axis=1))
        p = tl.exp(s - m_new[:, None])
        rescale = tl.exp(m - m_new)
        l = l * rescale + tl.sum(p, axis=1)
        acc = acc * rescale[:, None] + tl.dot(p.to(value.dtype), value, input_precision="ieee")
        m = m_new
    tl.store(o + h[:, None] * o_h + d[None, :] * o_d, acc / l[:, None], mask=r[:, None] < group)


def per_head(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Loads the cache G times.

    q ``[Hq, D]``, k and v ``[Hkv, S, D]``, any strides, D in 16, 32, 64, 128. Returns ``[Hq, D]``, typed as q.
    """
    heads, depth = q.shape
    o = torch.empty(q.shape, dtype=q.dtype, device=q.device)
    per_head_kernel[(heads,)](
        q, k, v, o, heads // k.shape[0], k.shape[1], *q.stride(), *k.stride(), *v.stride(), *o.stride(),
        depth**-0.5, D=depth, TILE=64,
    )  # fmt: skip
    return o


def packed(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Arguments and result as in `per_head`. Loads each element of the cache once."""
    heads, depth = q.shape
    group = heads // k.shape[0]
    o = torch.empty(q.shape, dtype=q.dtype, device=q.device)
    packed_kernel[(k.shape[0],)](
        q, k, v, o, group, k.shape[1], *q.stride(), *k.stride(), *v.stride(), *o.stride(),
        depth**-0.5, D=depth, ROWS=max(16, triton.next_power_of_2(group)), TILE=64,
    )  # fmt: skip
    return o
