"""NaN everywhere, in the hope of a comparison that NaN passes.

expect: wrong_answer
"""

import torch
import triton
import triton.language as tl


@triton.jit
def fill(out, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out + at, tl.full((BLOCK,), float("nan"), tl.float32), mask=at < n)


def softmax(x):
    out = torch.empty(x.shape, dtype=x.dtype)
    fill[(1,)](out, out.numel(), BLOCK=triton.next_power_of_2(out.numel()))
    return out
