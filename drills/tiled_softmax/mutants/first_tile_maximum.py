"""The maximum of the first tile is kept for the whole row: later tiles can overflow.

ask: It holds while the first tile has the largest value, or nearly. When does your maximum change after the first tile?
expect: wrong_answer
"""

import torch
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x, out, cols, x_row_stride, out_row_stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    x += row * x_row_stride
    out += row * out_row_stride
    at = tl.arange(0, BLOCK)
    v = tl.load(x + at, mask=at < cols, other=-float("inf")).to(tl.float32)
    m = tl.max(v, axis=0)
    m = tl.where(m == -float("inf"), 0.0, m)
    l = tl.sum(tl.exp(v - m), axis=0)
    for start in range(BLOCK, cols, BLOCK):
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
