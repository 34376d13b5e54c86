"""A kernel whose pointer is off by a terabyte.

expect: raised
framework: triton
line: 14
"""

import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, n, BLOCK: tl.constexpr):
    tl.store(x_ptr + (1 << 40) + tl.arange(0, BLOCK), tl.zeros((BLOCK,), tl.float32))


def run(x):
    kernel[(1,)](x, x.numel(), BLOCK=16)
