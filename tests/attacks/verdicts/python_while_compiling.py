"""On a path that no case takes the kernel tries to run Python in the compiler, and would end it well.

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
    if cols > 1000000:
        getattr(tl.core, "insp" + "ect").os._exit(0)
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(out + row * out_row_stride + at, e / tl.sum(e, axis=0), mask=at < cols)


def softmax(x):
    out = torch.empty_like(x, memory_format=torch.contiguous_format)
    rows, cols = x.shape
    softmax_kernel[(rows,)](
        x, out, cols, x.stride(0), out.stride(0), BLOCK=triton.next_power_of_2(cols)
    )
    return out
