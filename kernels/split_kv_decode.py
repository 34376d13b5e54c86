"""Decode with the keys split over programs, and an exact merge.

What: each split sees some of the keys and gives a result and a log-sum-exp of its own,

    o⁽ⁿ⁾ = Σ_j exp(s_j − L⁽ⁿ⁾) v_j,   L⁽ⁿ⁾ = log Σ_j exp(s_j)      over its keys

and the merge weighs them: ``o = Σ_n w_n o⁽ⁿ⁾ / Σ_n w_n`` with ``w_n = exp(L⁽ⁿ⁾ − max L)``. It is exact, since
w_n is the share of the whole sum that split n holds. A split without keys gives o = 0 and L = −∞, so it weighs
nothing; if no split has keys, the result is zero.

Work: 4·S·D FLOPs a query head, as without splits, and about 4·n·D in the merge. Bytes: 2·Hkv·S·D·b of cache,
once, and ``n·Hq·(D + 1)·4`` of partial results written and read. With n splits of a cache of S keys that is
``4·n·G / (S·b)`` of the cache: 2 % for n = 8, G = 8, S = 8,192, b = 2.

Why it pays: at batch 1 one program per key head leaves most of the machine idle (8 programs on 132 processors),
and a single program can't draw the bandwidth of the whole memory. n splits make n times as many programs. Too
many make each so short that starting up and merging dominate.

Source: T. Dao, D. Haziza, F. Massa, G. Sizov, Flash-Decoding for long-context inference, 2023,
https://crfm.stanford.edu/2023/10/12/flashdecoding.html.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def partial_kernel(
    q, k, v, o, lse, heads, group, kv_len, each, q_h, q_d, k_h, k_s, k_d, v_h, v_s, v_d,
    scale, D: tl.constexpr, ROWS: tl.constexpr, TILE: tl.constexpr,
):  # fmt: skip
    """One split of one key head a program, the query heads of the group as rows."""
    kv, n = tl.program_id(0), tl.program_id(1)
    r = tl.arange(0, ROWS)
    h = kv * group + r
    d = tl.arange(0, D)
    k += kv * k_h
    v += kv * v_h
    query = tl.load(q + h[:, None] * q_h + d[None, :] * q_d, mask=r[:, None] < group, other=0.0)
    m = tl.full((ROWS,), -float("inf"), tl.float32)
    l = tl.zeros((ROWS,), tl.float32)
    acc = tl.zeros((ROWS, D), tl.float32)
    end = tl.minimum(kv_len, (n + 1) * each)
    for start in range(n * each, end, TILE):
        j = start + tl.arange(0, TILE)
        here = j < end  # not kv_len: the next keys belong to the next split
        key = tl.load(k + j[None, :] * k_s + d[:, None] * k_d, mask=here[None, :], other=0.0)
        value = tl.load(v + j[:, None] * v_s + d[None, :] * v_d, mask=here[:, None], other=0.0)
        s = tl.where(here[None, :], tl.dot(query, key, input_precision="ieee") * scale, -float("inf"))
        m_new = tl.maximum(m, tl.max(s, axis=1))
        p = tl.exp(s - m_new[:, None])
        rescale = tl.exp(m - m_new)
        l = l * rescale + tl.sum(p, axis=1)
        acc = acc * rescale[:, None] + tl.dot(p.to(value.dtype), value, input_precision="ieee")
        m = m_new
    some = tl.where(l > 0.0, l, 1.0)  # an empty split: 0 / 1, and −∞ + log 1
    mine = r < group
    row = n * heads + h
    tl.store(o + row[:, None] * D + d[None, :], acc / some[:, None], mask=mine[:, None])
    tl.store(lse + row, m + tl.log(some), mask=mine)


@triton.jit
def merge_kernel(parts, lse, o, heads, splits, o_h, o_d, D: tl.constexpr, WIDTH: tl.constexpr):
    """One query head a program: all its splits as the rows of a tile."""
    h = tl.program_id(0)
    n = tl.arange(0, WIDTH)
    d = tl.arange(0, D)
    row = n * heads + h
    size = tl.load(lse + row, mask=n < splits, other=-float("inf"))
    part = tl.load(parts + row[:, None] * D + d[None, :], mask=n[:, None] < splits, other=0.0)
    top = tl.max(size, axis=0)
    weight = tl.exp(size - tl.where(top == -float("inf"), 0.0, top))
    total = tl.sum(weight, axis=0)
    out = tl.sum(part * weight[:, None], axis=0) / tl.where(total > 0.0, total, 1.0)
    tl.store(o + h * o_h + d * o_d, out)


def partial(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, splits: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Each split by itself.

    q ``[Hq, D]``, k and v ``[Hkv, S, D]``, any strides, S ≥ 0, D in 16, 32, 64, 128. Returns o ``[splits, Hq,
    D]`` and the natural log-sum-exp ``[splits, Hq]``, both fp32. Splits are ``ceil(S / splits)`` keys long, so
    the last may be empty.
    """
    heads, depth = q.shape
    kv_heads, kv_len, _ = k.shape
    group = heads // kv_heads
    o = torch.empty((splits, heads, depth), dtype=torch.float32, device=q.device)
    lse = torch.empty((splits, heads), dtype=torch.float32, device=q.device)
    partial_kernel[(kv_heads, splits)](
        q, k, v, o, lse, heads, group, kv_len, triton.cdiv(kv_len, splits), *q.stride(), *k.stride(), *v.stride(),
        depth**-0.5, D=depth, ROWS=max(16, triton.next_power_of_2(group)), TILE=32,
    )  # fmt: skip
    return o, lse


def merge(o: torch.Tensor, lse: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Partial results o ``[n, Hq, D]`` with their log-sum-exp ``[n, Hq]``, fp32 and dense, as one ``[Hq, D]``."""
    splits, heads, depth = o.shape
    out = torch.empty((heads, depth), dtype=dtype, device=o.device)
    merge_kernel[(heads,)](o, lse, out, heads, splits, *out.stride(), D=depth, WIDTH=triton.next_power_of_2(splits))
    return out


def decode(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, splits: int) -> torch.Tensor:
    """Attention of one query a head over the whole cache, ``[Hq, D]`` in the type of q: `partial`, then `merge`."""
    return merge(*partial(q, k, v, splits), q.dtype)
