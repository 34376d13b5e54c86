"""Two programs share all rows, each taking every second one, with tiles of 1024."""

import torch
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x, out, rows, cols, x_row_stride, out_row_stride, BLOCK_SIZE: tl.constexpr):
    for row in range(tl.program_id(0), rows, tl.num_programs(0)):
        m = -float("inf")
        l = 0.0
        for tile in range(tl.cdiv(cols, BLOCK_SIZE)):
            at = tile * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
            v = tl.load(x + row * x_row_stride + at, mask=at < cols, other=-float("inf")).to(tl.float32)
            top = tl.max(v, axis=0)
            # A tile with nothing finite changes nothing.
            part = tl.where(
                top == -float("inf"), 0.0, tl.sum(tl.exp(v - tl.where(top == -float("inf"), 0.0, top)), axis=0)
            )
            m_new = tl.maximum(m, top)
            base = tl.where(m_new == -float("inf"), 0.0, m_new)
            l = l * tl.exp(m - base) + part * tl.exp(top - base)
            m = m_new
        for tile in range(tl.cdiv(cols, BLOCK_SIZE)):
            at = tile * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
            v = tl.load(x + row * x_row_stride + at, mask=at < cols, other=0.0).to(tl.float32)
            tl.store(out + row * out_row_stride + at, tl.exp(v - m) / l, mask=at < cols)


def softmax(x):
    rows, cols = x.shape
    out = torch.empty((rows, cols), dtype=x.dtype, device=x.device)
    softmax_kernel[(min(rows, 2),)](x, out, rows, cols, x.stride(0), out.stride(0), BLOCK_SIZE=1024)
    return out
