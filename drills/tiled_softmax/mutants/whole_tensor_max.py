"""Subtracts the maximum of the first row from every row.

ask: A row far away from its neighbours fails. Whose maximum is subtracted from it?
expect: wrong_answer
"""

import torch
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x, out, cols, x_row_stride, out_row_stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    first = x
    x += row * x_row_stride
    out += row * out_row_stride
    m = -float("inf")
    for start in range(0, cols, BLOCK):
        at = start + tl.arange(0, BLOCK)
        m = tl.maximum(m, tl.max(tl.load(first + at, mask=at < cols, other=-float("inf")).to(tl.float32), axis=0))
    l = 0.0
    for start in range(0, cols, BLOCK):
        at = start + tl.arange(0, BLOCK)
        v = tl.load(x + at, mask=at < cols, other=-float("inf")).to(tl.float32)
        l += tl.sum(tl.exp(v - m), axis=0)
    for start in range(0, cols, BLOCK):
        at = start + tl.arange(0, BLOCK)
        v = tl.load(x + at, mask=at < cols, other=-float("inf")).to(tl.float32)
        tl.store(out + at, tl.exp(v - m) / l, mask=at < cols)


def softmax(x):
    out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    softmax_kernel[(x.shape[0],)](x, out, x.shape[1], x.stride(0), out.stride(0), BLOCK=64)
    return out
