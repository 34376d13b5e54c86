"""torch computes it; no kernel runs.

ask: Which kernel of yours wrote the bytes that you return?
expect: rule_broken
"""

import torch


def decode(q, k, v):
    group = q.shape[0] // k.shape[0]
    k, v = (part.float().repeat_interleave(group, dim=0) for part in (k, v))
    scores = (k @ q.float()[:, :, None])[:, :, 0] * q.shape[1] ** -0.5
    return (torch.softmax(scores, dim=-1)[:, None, :] @ v)[:, 0].to(q.dtype)
