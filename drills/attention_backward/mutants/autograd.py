"""The forward pass is run again under autograd, which keeps every S×S matrix on the way.

ask: What does autograd keep of the forward pass, and how large is it?
expect: rule_broken
"""

import math

import torch


def backward(q, k, v, o, lse, do, causal):
    with torch.enable_grad():
        leaves = [x.detach().clone().requires_grad_() for x in (q, k, v)]
        scores = leaves[0] @ leaves[1].T / math.sqrt(q.shape[1])
        if causal:
            scores = scores.masked_fill(torch.ones(scores.shape, dtype=torch.bool).triu(1), -math.inf)
        out = scores.softmax(dim=1) @ leaves[2]
        return tuple(grad.detach() for grad in torch.autograd.grad(out, leaves, do.contiguous()))
