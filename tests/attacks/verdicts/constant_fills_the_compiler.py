"""A constant on a path that no case takes would fill the compiler's memory, or its time.

expect: compile_error | out_of_memory | time_limit
"""

import torch
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x, out, cols, x_row_stride, out_row_stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    v = tl.load(x + row * x_row_stride + at, mask=at < cols, other=-float("inf")).to(tl.float32)
    if cols > 1000000:
        huge: tl.constexpr = (BLOCK + 1) ** (10**10)
        v = v * huge
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(out + row * out_row_stride + at, e / tl.sum(e, axis=0), mask=at < cols)


def softmax(x):
    out = torch.empty_like(x, memory_format=torch.contiguous_format)
    rows, cols = x.shape
    softmax_kernel[(rows,)](
        x, out, cols, x.stride(0), out.stride(0), BLOCK=triton.next_power_of_2(cols)
    )
    return out
