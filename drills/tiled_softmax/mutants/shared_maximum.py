"""Several rows a program, and one maximum for all of them: tl.max over the tile without an axis.

ask: A row far below its neighbours fails. Over which axes does your maximum run?
expect: wrong_answer
"""

import torch
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x, out, rows, cols, x_row_stride, out_row_stride, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    m = -float("inf")
    l = tl.zeros((ROWS,), tl.float32)
    for start in range(0, cols, BLOCK):
        c = start + tl.arange(0, BLOCK)
        inside = (r < rows)[:, None] & (c < cols)[None, :]
        v = tl.load(x + r[:, None] * x_row_stride + c[None, :], mask=inside, other=-float("inf")).to(tl.float32)
        m_new = tl.maximum(m, tl.max(v))
        base = tl.where(m_new == -float("inf"), 0.0, m_new)
        l = l * tl.exp(m - base) + tl.sum(tl.exp(v - base), axis=1)
        m = m_new
    for start in range(0, cols, BLOCK):
        c = start + tl.arange(0, BLOCK)
        inside = (r < rows)[:, None] & (c < cols)[None, :]
        v = tl.load(x + r[:, None] * x_row_stride + c[None, :], mask=inside, other=-float("inf")).to(tl.float32)
        tl.store(out + r[:, None] * out_row_stride + c[None, :], tl.exp(v - m) / l[:, None], mask=inside)


def softmax(x):
    rows, cols = x.shape
    out = torch.empty((rows, cols), dtype=x.dtype, device=x.device)
    grid = (triton.cdiv(rows, 4),)
    softmax_kernel[grid](x, out, rows, cols, x.stride(0), out.stride(0), ROWS=4, BLOCK=64)
    return out
