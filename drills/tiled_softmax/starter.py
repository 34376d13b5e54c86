"""Tiled softmax: a start that runs.

It takes one tile a row and is right for short rows of moderate values. It does not go on to a second tile, and it
does not subtract the maximum: see what the verdict says, then change it.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x, out, cols, x_row_stride, out_row_stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    inside = lanes < cols
    values = tl.load(x + row * x_row_stride + lanes, mask=inside, other=-float("inf")).to(tl.float32)
    weights = tl.exp(values)
    total = tl.sum(weights, axis=0)
    tl.store(out + row * out_row_stride + lanes, weights / total, mask=inside)


def softmax(x: torch.Tensor) -> torch.Tensor:
    rows, cols = x.shape
    out = torch.empty((rows, cols), dtype=x.dtype, device=x.device)
    softmax_kernel[(rows,)](x, out, cols, x.stride(0), out.stride(0), BLOCK=64)
    return out
