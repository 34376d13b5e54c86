"""A kernel that reaches through a function's attributes for Python's own, to act where it is run again.

expect: compile_error
"""

import torch
import triton
import triton.language as tl


@triton.jit
def helper(x):
    return x


@triton.jit
def climb(x, out, cols, BLOCK: tl.constexpr):
    names = helper.fn.__globals__["__builtins__"]
    at = tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < cols, other=0.0), mask=at < cols)


def softmax(x):
    out = torch.empty_like(x)
    climb[(1,)](x, out, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))
    return out
