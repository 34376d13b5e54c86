"""What fits is written before it is found that not everything does.

ask: In which order do you write and check? What is in the cache when you refuse?
expect: wrong_answer
"""

import math

import torch


def attend(q, k_new, v_new, k_cache, v_cache, cached):
    heads, new, depth = q.shape
    kv_heads, room, _ = k_cache.shape
    end = cached + new
    fits = min(new, room - cached)
    k_cache[:, cached : cached + fits] = k_new[:, :fits]
    v_cache[:, cached : cached + fits] = v_new[:, :fits]
    if end > room:
        raise ValueError("full")
    keys = k_cache[:, :end].repeat_interleave(heads // kv_heads, dim=0)
    values = v_cache[:, :end].repeat_interleave(heads // kv_heads, dim=0)
    scores = q @ keys.transpose(1, 2) / math.sqrt(depth)
    position = cached + torch.arange(new)[:, None]
    scores = scores.masked_fill(torch.arange(end)[None, :] > position, -math.inf)
    return scores.softmax(dim=-1) @ values
