"""The backward pass with full matrices and without the mask: right for small sequences that are not causal."""

import math

import torch


def backward(q, k, v, o, lse, do, causal):
    scale = 1 / math.sqrt(q.shape[1])
    p = torch.exp(q @ k.T * scale - lse[:, None])
    dp = do @ v.T
    ds = p * (dp - (p * dp).sum(dim=1, keepdim=True))
    return ds @ k * scale, ds.T @ q * scale, p.T @ do
