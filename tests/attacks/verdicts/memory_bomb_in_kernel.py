"""A kernel that builds ever larger tiles.

expect: runtime_error | out_of_memory | compile_error | time_limit
"""

import torch
import triton
import triton.language as tl


@triton.jit
def bomb(out, BLOCK: tl.constexpr):
    a = tl.arange(0, BLOCK)
    b = a[:, None] * a[None, :]
    c = b[:, :, None] + a[None, None, :]
    tl.store(out, tl.sum(tl.sum(tl.sum(c, 0), 0), 0))


def softmax(x):
    out = torch.empty_like(x)
    bomb[(1,)](out, BLOCK=8192)
    return out
