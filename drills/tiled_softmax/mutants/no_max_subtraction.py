"""exp of the raw scores: overflows near 300, vanishes near −400.

ask: exp overflows fp32 just above 88 and vanishes below −104. Which numbers does your kernel pass to exp, and how large can they get?
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
    l = 0.0
    for start in range(0, cols, BLOCK):
        at = start + tl.arange(0, BLOCK)
        v = tl.load(x + at, mask=at < cols, other=-float("inf")).to(tl.float32)
        l += tl.sum(tl.exp(v), axis=0)
    for start in range(0, cols, BLOCK):
        at = start + tl.arange(0, BLOCK)
        v = tl.load(x + at, mask=at < cols, other=-float("inf")).to(tl.float32)
        tl.store(out + at, tl.exp(v) / l, mask=at < cols)


def softmax(x):
    out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    softmax_kernel[(x.shape[0],)](x, out, x.shape[1], x.stride(0), out.stride(0), BLOCK=64)
    return out
