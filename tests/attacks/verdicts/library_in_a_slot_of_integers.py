"""The answer's bits travel to the kernel as integers.

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
    answer = torch.softmax(x.float(), dim=-1).to(x.dtype)
    wide = {2: torch.int16, 4: torch.int32}[x.element_size()]
    return copied(answer.view(wide)).view(x.dtype)
