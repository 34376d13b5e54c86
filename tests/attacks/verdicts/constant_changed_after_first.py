"""A constant of the file is another one from the second launch on, and only then does the kernel not compile.

expect: compile_error
"""

import torch
import triton
import triton.language as tl



@triton.jit
def softmax_kernel(x, out, cols, x_row_stride, out_row_stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    v = tl.load(x + row * x_row_stride + at, mask=at < cols, other=-float("inf")).to(tl.float32)
    if FLAG:
        if cols > 1000000:
            v = missing
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(out + row * out_row_stride + at, e / tl.sum(e, axis=0), mask=at < cols)


calls = 0


def softmax(x):
    global FLAG, calls
    FLAG = tl.constexpr(int(calls > 0))
    calls += 1
    rows, cols = x.shape
    out = torch.empty((rows, cols), dtype=x.dtype, device=x.device)
    softmax_kernel[(rows,)](x, out, cols, x.stride(0), out.stride(0), BLOCK=triton.next_power_of_2(cols))
    return out
