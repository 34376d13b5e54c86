"""A library computes, and a kernel only copies the result.

expect: rule_broken
"""

import torch
import triton
import triton.language as tl


@triton.jit
def copy_kernel(x, out, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n, other=0.0), mask=at < n)


def copied(source):
    source = source.contiguous()
    out = torch.empty_like(source)
    n = source.numel()
    copy_kernel[(1,)](source, out, n, BLOCK=triton.next_power_of_2(n))
    return out


def softmax(x):
    return copied(torch.softmax(x.float(), dim=-1).to(x.dtype))
