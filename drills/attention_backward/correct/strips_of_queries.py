"""Strips of 40 queries against all keys they may see; scores masked before the exponential."""

import torch


def backward(q, k, v, o, lse, do, causal):
    S, D = q.shape
    dq, dk, dv = torch.empty(S, D), torch.zeros(S, D), torch.zeros(S, D)
    for first in range(0, S, 40):
        last = min(first + 40, S)
        end = last if causal else S
        scores = torch.mm(q[first:last], k[:end].t()).div_(D**0.5).sub_(lse[first:last].unsqueeze(1))
        if causal:
            scores.masked_fill_(torch.ones(last - first, end, dtype=torch.bool).triu_(first + 1), float("-inf"))
        p = scores.exp_()
        dv[:end].addmm_(p.t(), do[first:last])
        delta = torch.einsum("id,id->i", do[first:last], o[first:last])
        ds = torch.mm(do[first:last], v[:end].t()).sub_(delta.unsqueeze(1)).mul_(p).div_(D**0.5)
        torch.mm(ds, k[:end], out=dq[first:last])
        dk[:end].addmm_(ds.t(), q[first:last])
    return dq, dk, dv
