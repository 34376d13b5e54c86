"""New queries see all new keys, those after them too.

ask: One new token is right and two are not. What may the first of them not see?
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
    scores = q @ keys.transpose(1, 2) / math.sqrt(depth)
    position = cached + torch.arange(new)[:, None]
    return scores.softmax(dim=-1) @ values
