"""The new keys are put behind the cached ones in a new tensor; the caches stay as they were.

ask: Your output is right. What will the next call find at the positions of these tokens?
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
    k_cache = torch.cat([k_cache[:, :cached], k_new], dim=1)
    v_cache = torch.cat([v_cache[:, :cached], v_new], dim=1)
    keys = k_cache[:, :end].repeat_interleave(heads // kv_heads, dim=0)
    values = v_cache[:, :end].repeat_interleave(heads // kv_heads, dim=0)
    scores = q @ keys.transpose(1, 2) / math.sqrt(depth)
    position = cached + torch.arange(new)[:, None]
    scores = scores.masked_fill(torch.arange(end)[None, :] > position, -math.inf)
    return scores.softmax(dim=-1) @ values
