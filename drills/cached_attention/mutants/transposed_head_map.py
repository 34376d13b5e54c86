"""Query heads are dealt out to KV heads in turn: h % Hkv.

ask: One KV head is right, as many as query heads too. Which KV head do your query heads 0 and 1 use?
expect: wrong_answer
"""

import math

import torch


def attend(q, k_new, v_new, k_cache, v_cache, cached):
    heads, new, depth = q.shape
    kv_heads, room, _ = k_cache.shape
    end = cached + new
    if end > room:
        raise ValueError(f"{end} tokens do not fit into {room}")
    k_cache[:, cached:end] = k_new
    v_cache[:, cached:end] = v_new
    keys = k_cache[:, :end].repeat(heads // kv_heads, 1, 1)
    values = v_cache[:, :end].repeat(heads // kv_heads, 1, 1)
    scores = q @ keys.transpose(1, 2) / math.sqrt(depth)
    position = cached + torch.arange(new)[:, None]
    scores = scores.masked_fill(torch.arange(end)[None, :] > position, -math.inf)
    return scores.softmax(dim=-1) @ values
