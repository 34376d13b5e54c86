"""Nothing is checked: the assignment fails with an error of torch.

ask: What does the contract want raised when the cache is full?
expect: wrong_answer
"""

import math

import torch


def attend(q, k_new, v_new, k_cache, v_cache, cached):
    heads, new, depth = q.shape
    kv_heads, room, _ = k_cache.shape
    end = cached + new
    k_cache[:, cached:end] = k_new
    v_cache[:, cached:end] = v_new
    keys = k_cache[:, :end].repeat_interleave(heads // kv_heads, dim=0)
    values = v_cache[:, :end].repeat_interleave(heads // kv_heads, dim=0)
    scores = q @ keys.transpose(1, 2) / math.sqrt(depth)
    position = cached + torch.arange(new)[:, None]
    scores = scores.masked_fill(torch.arange(end)[None, :] > position, -math.inf)
    return scores.softmax(dim=-1) @ values
