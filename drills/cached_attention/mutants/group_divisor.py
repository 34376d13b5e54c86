"""The KV head is h // Hkv, which agrees where a group is as large as the number of KV heads.

ask: 4 query heads over 2 KV heads are right, 6 over 2 are not. By what do you divide h?
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
    keys = k_cache[:, :end][torch.arange(heads).div(kv_heads, rounding_mode='floor').clamp(max=kv_heads - 1)]
    values = v_cache[:, :end][torch.arange(heads).div(kv_heads, rounding_mode='floor').clamp(max=kv_heads - 1)]
    scores = q @ keys.transpose(1, 2) / math.sqrt(depth)
    position = cached + torch.arange(new)[:, None]
    scores = scores.masked_fill(torch.arange(end)[None, :] > position, -math.inf)
    return scores.softmax(dim=-1) @ values
