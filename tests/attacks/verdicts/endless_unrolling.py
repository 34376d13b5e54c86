"""A right kernel whose compiler would unroll a loop on a path that no case takes for ever: 10^6 turns.

expect: time_limit | out_of_memory
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
        for turn in tl.static_range(1000000):
            v = v * 2.0 + turn
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(out + row * out_row_stride + at, e / tl.sum(e, axis=0), mask=at < cols)


def softmax(x):
    out = torch.empty_like(x, memory_format=torch.contiguous_format)
    rows, cols = x.shape
    BLOCK = triton.next_power_of_2(cols)
    softmax_kernel[(rows,)](x, out, cols, x.stride(0), out.stride(0), BLOCK=BLOCK)
    return out
