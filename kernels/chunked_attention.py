"""A chunk of T new tokens over a cache: append their keys and values, then attend to all that is there.

What: new token t stands at position ``cached + t``. Its key and value go to that place of the cache, and its
query sees the positions up to and including its own:

    o_ht = Σ_{j ≤ cached + t} p_htj v_gj,   p = softmax(q_ht·k_gj / √D),   g = h // G

With cached = 0 this is causal prefill, with T = 1 it is decoding; a long prompt can come in pieces of any size
and gives the same result. The mask is the causal one aligned at the bottom right, since T queries stand at the
end of cached + T keys.

Work: 4·Hq·T·(cached + T/2)·D FLOPs. Bytes: the cache up to cached + T once for each tile of rows, 2·Hkv·(cached
+ T)·D·b; q and o once; 2·Hkv·T·D·b to append.

Two ideas, and why each pays. The chunk mask: a square triangle aligned at the top left runs without an error
and hides all but the first keys. The group in the rows: a row is a pair of token and query head, ``r = t·G + (h
− g·G)``, so one load of a key serves T·G rows, and even T = 1 makes a product with G rows. The mask looks at
``r // G``, not at r.

Sources: J. Ainslie et al., GQA, 2023, arXiv:2305.13245. A. Agrawal et al., SARATHI: piggybacking decodes with
chunked prefills, 2023, arXiv:2308.16369.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def append_kernel(
    k, v, k_cache, v_cache, tokens, cached,
    k_h, k_s, k_d, v_h, v_s, v_d, kc_h, kc_s, kc_d, vc_h, vc_s, vc_d, D: tl.constexpr, TILE: tl.constexpr,
):  # fmt: skip
    """A tile of new tokens of one key head a program: copied to their places in the caches."""
    h = tl.program_id(1)
    t = tl.program_id(0) * TILE + tl.arange(0, TILE)
    d = tl.arange(0, D)
    new = t[:, None] < tokens
    key = tl.load(k + h * k_h + t[:, None] * k_s + d[None, :] * k_d, mask=new, other=0.0)
    value = tl.load(v + h * v_h + t[:, None] * v_s + d[None, :] * v_d, mask=new, other=0.0)
    at = cached + t[:, None]
    tl.store(k_cache + h * kc_h + at * kc_s + d[None, :] * kc_d, key, mask=new)
    tl.store(v_cache + h * vc_h + at * vc_s + d[None, :] * vc_d, value, mask=new)


@triton.jit
def attend_kernel(
    q, k_cache, v_cache, o, group, tokens, cached,
    q_h, q_s, q_d, kc_h, kc_s, kc_d, vc_h, vc_s, vc_d, o_h, o_s, o_d,
    scale, D: tl.constexpr, ROWS: tl.constexpr, TILE: tl.constexpr,
):  # fmt: skip
    """A tile of rows of one key head a program; row r is token ``r // G`` of query head ``g·G + r % G``."""
    kv = tl.program_id(1)
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    t, h = r // group, kv * group + r % group
    live = t < tokens
    d = tl.arange(0, D)
    k_cache += kv * kc_h
    v_cache += kv * vc_h
    at = h[:, None] * q_h + t[:, None] * q_s + d[None, :] * q_d
    query = tl.load(q + at, mask=live[:, None], other=0.0)
    last = tl.where(live, cached + t, -1)  # the last position that a row sees; none for padding
    m = tl.full((ROWS,), -float("inf"), tl.float32)
    l = tl.zeros((ROWS,), tl.float32)
    acc = tl.zeros((ROWS, D), tl.float32)
    end = tl.max(last, axis=0) + 1
    for start in range(0, end, TILE):
        j = start + tl.arange(0, TILE)
        here = j < end
        key = tl.load(k_cache + j[None, :] * kc_s + d[:, None] * kc_d, mask=here[None, :], other=0.0)
        value = tl.load(v_cache + j[:, None] * vc_s + d[None, :] * vc_d, mask=here[:, None], other=0.0)
        s = tl.dot(query, key, input_precision="ieee") * scale
        s = tl.where(j[None, :] <= last[:, None], s, -float("inf"))
        m_new = tl.maximum(m, tl.max(s, axis=1))
        base = tl.where(m_new == -float("inf"), 0.0, m_new)  # padding sees nothing
        p = tl.exp(s - base[:, None])
        rescale = tl.exp(m - base)
        l = l * rescale + tl.sum(p, axis=1)
        acc = acc * rescale[:, None] + tl.dot(p.to(value.dtype), value, input_precision="ieee")
        m = m_new
    out = acc / tl.where(l > 0.0, l, 1.0)[:, None]
    tl.store(o + h[:, None] * o_h + t[:, None] * o_s + d[None, :] * o_d, out, mask=live[:, None])


def attend(
    q: torch.Tensor,
    k_new: torch.Tensor,
    v_new: torch.Tensor,
    k_cache: torch.Tensor,
    v_cache: torch.Tensor,
    cached: int,
) -> torch.Tensor:
    """Append T tokens to the caches in place, and attend.

    q ``[Hq, T, D]``, k_new and v_new ``[Hkv, T, D]``, caches ``[Hkv, capacity, D]`` of which the first `cached`
    positions are filled; any strides, D in 16, 32, 64, 128. Returns ``[Hq, T, D]`` in the type of q. Raises
    `ValueError` when the tokens do not fit; the caches are then as they were.
    """
    heads, tokens, depth = q.shape
    kv_heads, capacity, _ = k_cache.shape
    if cached < 0 or cached + tokens > capacity:
        raise ValueError(f"{tokens} tokens after {cached} do not fit into a cache of {capacity}")
    group = heads // kv_heads
    o = torch.empty(q.shape, dtype=q.dtype, device=q.device)
    append_kernel[(triton.cdiv(tokens, 32), kv_heads)](
        k_new, v_new, k_cache, v_cache, tokens, cached,
        *k_new.stride(), *v_new.stride(), *k_cache.stride(), *v_cache.stride(), D=depth, TILE=32,
    )  # fmt: skip
    attend_kernel[(triton.cdiv(tokens * group, 32), kv_heads)](
        q, k_cache, v_cache, o, group, tokens, cached,
        *q.stride(), *k_cache.stride(), *v_cache.stride(), *o.stride(),
        depth**-0.5, D=depth, ROWS=32, TILE=32,
    )  # fmt: skip
    return o
