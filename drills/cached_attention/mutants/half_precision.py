"""Keys and queries are multiplied in bfloat16.

ask: All outputs are off by a few parts in a thousand. In which type are your scores?
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
    keys = k_cache[:, :end].repeat_interleave(heads // kv_heads, dim=0)
    values = v_cache[:, :end].repeat_interleave(heads // kv_heads, dim=0)
    scores = (q.bfloat16() @ keys.bfloat16().transpose(1, 2)).float() / math.sqrt(depth)
    position = cached + torch.arange(new)[:, None]
    scores = scores.masked_fill(torch.arange(end)[None, :] > position, -math.inf)
    return scores.softmax(dim=-1) @ values
