"""A kernel inside of a function, with a constant from outside: it is right, and it can be run again.

expect: accepted
"""

import math

import torch
import triton
import triton.language as tl

LOG2E = tl.constexpr(float(torch.log2(torch.tensor(math.e, dtype=torch.float64))))


def make():
    @triton.jit
    def softmax_kernel(x, out, cols, x_row_stride, out_row_stride, BLOCK: tl.constexpr):
        row = tl.program_id(0)
        at = tl.arange(0, BLOCK)
        v = tl.load(x + row * x_row_stride + at, mask=at < cols, other=-float("inf")).to(tl.float32)
        weights = tl.exp2((v - tl.max(v, axis=0)) * LOG2E)
        tl.store(out + row * out_row_stride + at, weights / tl.sum(weights, axis=0), mask=at < cols)

    return softmax_kernel


kernel = make()


def softmax(x):
    rows, cols = x.shape
    out = torch.empty((rows, cols), dtype=x.dtype, device=x.device)
    kernel[(rows,)](x, out, cols, x.stride(0), out.stride(0), BLOCK=triton.next_power_of_2(cols))
    return out
