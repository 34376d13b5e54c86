"""The first version's loop order: keys outside, queries inside, the state of every query in memory between tiles.

The state is read and written once for each tile of keys. One program does a whole head, which keeps the tiles in
order.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def attention_kernel(
    q, k, v, o, heads, q_len, kv_len,
    q_b, q_h, q_s, q_d, k_b, k_h, k_s, k_d, v_b, v_h, v_s, v_d, o_b, o_h, o_s, o_d,
    m_at, l_at, acc_at, scale, CAUSAL: tl.constexpr, D: tl.constexpr, TILE_Q: tl.constexpr, TILE_K: tl.constexpr,
):  # fmt: skip
    pair = tl.program_id(0)
    b, h = pair // heads, pair % heads
    d = tl.arange(0, D)
    k_tiles = tl.cdiv(kv_len, TILE_K)
    for tile in range(k_tiles):
        cols = tile * TILE_K + tl.arange(0, TILE_K)
        here = cols < kv_len
        key = tl.load(k + b * k_b + h * k_h + cols[:, None] * k_s + d[None, :] * k_d, mask=here[:, None], other=0.0)
        value = tl.load(
            v + b * v_b + h * v_h + cols[:, None] * v_s + d[None, :] * v_d, mask=here[:, None], other=0.0
        )
        for top in range(0, q_len, TILE_Q):
            rows = top + tl.arange(0, TILE_Q)
            live = rows < q_len
            query = tl.load(
                q + b * q_b + h * q_h + rows[:, None] * q_s + d[None, :] * q_d, mask=live[:, None], other=0.0
            )
            s = tl.dot(query, tl.trans(key), input_precision="ieee") * scale
            seen = here[None, :] & (live[:, None] | here[None, :])
            if CAUSAL:
                seen = seen & (cols[None, :] - rows[:, None] <= kv_len - q_len)
            s = tl.where(seen, s, -float("inf"))
            state = pair * q_len + rows
            cells = state[:, None] * D + d[None, :]
            m = tl.load(m_at + state, mask=live & (tile > 0), other=-float("inf"))
            l = tl.load(l_at + state, mask=live & (tile > 0), other=0.0)
            acc = tl.load(acc_at + cells, mask=live[:, None] & (tile > 0), other=0.0)
            m_new = tl.maximum(m, tl.max(s, axis=1))
            base = tl.where(m_new == -float("inf"), 0.0, m_new)
            p = tl.exp(s - base[:, None])
            l = l * tl.exp(m - base) + tl.sum(p, axis=1)
            acc = acc * tl.exp(m - base)[:, None] + tl.dot(p.to(value.dtype), value, input_precision="ieee")
            if tile == k_tiles - 1:
                out = acc / tl.where(l > 0.0, l, 1.0)[:, None]
                tl.store(o + b * o_b + h * o_h + rows[:, None] * o_s + d[None, :] * o_d, out, mask=live[:, None])
            else:
                tl.store(m_at + state, m_new, mask=live)
                tl.store(l_at + state, l, mask=live)
                tl.store(acc_at + cells, acc, mask=live[:, None])
        tl.debug_barrier()


def attention(q, k, v, causal):
    batch, heads, q_len, depth = q.shape
    o = torch.empty(q.shape, dtype=q.dtype, device=q.device)
    m, l = torch.empty((2, batch * heads * q_len), dtype=torch.float32, device=q.device)
    acc = torch.empty((batch * heads * q_len, depth), dtype=torch.float32, device=q.device)
    attention_kernel[(batch * heads,)](
        q, k, v, o, heads, q_len, k.shape[2], *q.stride(), *k.stride(), *v.stride(), *o.stride(),
        m, l, acc, depth**-0.5, CAUSAL=causal, D=depth, TILE_Q=16, TILE_K=32,
    )  # fmt: skip
    return o
