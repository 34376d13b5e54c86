"""Running maximum and sum are kept in fp16.

ask: The error is small, near one part in a thousand, and everywhere. In which type does your kernel keep its sum between tiles?
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
    m = tl.full((), -float("inf"), tl.float16)
    l = tl.full((), 0.0, tl.float16)
    for start in range(0, cols, BLOCK):
        at = start + tl.arange(0, BLOCK)
        v = tl.load(x + at, mask=at < cols, other=-float("inf")).to(tl.float32)
        m_new = tl.maximum(m.to(tl.float32), tl.max(v, axis=0))
        base = tl.where(m_new == -float("inf"), 0.0, m_new)
        l = l.to(tl.float32) * tl.exp(m.to(tl.float32) - base) + tl.sum(tl.exp(v - base), axis=0)
        l = l.to(tl.float16)
        m = m_new.to(tl.float16)
    for start in range(0, cols, BLOCK):
        at = start + tl.arange(0, BLOCK)
        v = tl.load(x + at, mask=at < cols, other=-float("inf")).to(tl.float32)
        tl.store(out + at, tl.exp(v - m.to(tl.float32)) / l.to(tl.float32), mask=at < cols)


def softmax(x):
    out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    softmax_kernel[(x.shape[0],)](x, out, x.shape[1], x.stride(0), out.stride(0), BLOCK=64)
    return out
