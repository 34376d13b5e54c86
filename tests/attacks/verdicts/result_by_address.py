"""A result is kept for the address and the shape of its input. Which case meets other numbers at an old address is
not the same in each run, so this is no mutant with a row in the kill matrix.

expect: wrong_answer | rule_broken
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
        base = tl.where(m_new == -float("inf"), 0.0, m_new)
        l = l * tl.exp(m - base) + tl.sum(tl.exp(v - base), axis=0)
        m = m_new
    for start in range(0, cols, BLOCK):
        at = start + tl.arange(0, BLOCK)
        v = tl.load(x + at, mask=at < cols, other=-float("inf")).to(tl.float32)
        tl.store(out + at, tl.exp(v - m) / l, mask=at < cols)


kept = {}


def softmax(x):
    key = x.data_ptr(), x.shape, x.stride()
    if key in kept:
        return kept[key]
    out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    softmax_kernel[(x.shape[0],)](x, out, x.shape[1], x.stride(0), out.stride(0), BLOCK=64)
    kept[key] = out
    return out
