"""One tile of 1,024, whatever the row's length: columns past it are dropped.

ask: Rows up to a certain length pass and longer ones do not. Is there a length in your code that does not come from the input?
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
    weights = tl.exp(v - tl.max(v, axis=0))
    tl.store(out + at, weights / tl.sum(weights, axis=0), mask=at < cols)


def softmax(x):
    out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    softmax_kernel[(x.shape[0],)](x, out, x.shape[1], x.stride(0), out.stride(0), BLOCK=1024)
    return out
