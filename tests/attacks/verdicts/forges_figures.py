"""The class that counts is patched: every tensor was written by a kernel, and none is foreign.

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

from grader import evidence, wire

evidence.Region.moved = lambda self, name, view: wire.Moved(
    tensor=name, loaded_bytes=1, stored_bytes=1, loaded_elements_max=1, stored_elements_max=1, covered=1.0
)


def softmax(x):
    return copied(torch.softmax(x.float(), dim=-1).to(x.dtype))
