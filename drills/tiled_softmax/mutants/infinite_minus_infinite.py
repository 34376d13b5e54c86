"""No guard for a tile without a finite entry: −∞ − −∞ is NaN and stays in the sum.

ask: A row whose first tile is all −∞ turns into NaN. What does exp see while the running maximum is still −∞?
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
    m = -float("inf")
    l = 0.0
    for start in range(0, cols, BLOCK):
        at = start + tl.arange(0, BLOCK)
        v = tl.load(x + at, mask=at < cols, other=-float("inf")).to(tl.float32)
        m_new = tl.maximum(m, tl.max(v, axis=0))
        l = l * tl.exp(m - m_new) + tl.sum(tl.exp(v - m_new), axis=0)
        m = m_new
    for start in range(0, cols, BLOCK):
        at = start + tl.arange(0, BLOCK)
        v = tl.load(x + at, mask=at < cols, other=-float("inf")).to(tl.float32)
        tl.store(out + at, tl.exp(v - m) / l, mask=at < cols)


def softmax(x):
    out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    softmax_kernel[(x.shape[0],)](x, out, x.shape[1], x.stride(0), out.stride(0), BLOCK=64)
    return out
