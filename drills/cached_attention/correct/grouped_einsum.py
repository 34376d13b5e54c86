"""Query heads viewed as [KV head, group]; the softmax written out in base two; an error class of its own."""

import torch


class CacheFull(ValueError):
    """No room for the new tokens."""


def attend(q, k_new, v_new, k_cache, v_cache, cached):
    kv_heads, new, depth = k_new.shape
    total = cached + new
    if k_cache.shape[1] < total:
        raise CacheFull(total)
    for cache, fresh in ((k_cache, k_new), (v_cache, v_new)):
        cache[:, cached:total].copy_(fresh)
    grouped = q.reshape(kv_heads, -1, new, depth)
    scores = torch.einsum("kgtd,ksd->kgts", grouped, k_cache[:, :total])
    scores = scores * (1.4426950408889634 / depth**0.5)
    visible = torch.ones(new, total, dtype=torch.bool).tril(cached)
    scores = torch.where(visible, scores, torch.tensor(float("-inf")))
    weights = torch.exp2(scores - scores.amax(-1, keepdim=True))
    weights = weights / weights.sum(-1, keepdim=True)
    return torch.einsum("kgts,ksd->kgtd", weights, v_cache[:, :total]).reshape(q.shape)
