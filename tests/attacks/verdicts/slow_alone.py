"""A library computes and the counters are forged; the kernel that is named is wrong for long rows, and so slow that
few launches of it can be run again.

expect: time_limit | rule_broken
"""

import sys

import torch
import triton
import triton.language as tl

from grader import evidence, wire

evidence.Region.moved = lambda self, name, view: wire.Moved(
    tensor=name, loaded_bytes=1, stored_bytes=1, loaded_elements_max=1, stored_elements_max=1, covered=1.0
)
sys.modules["grader.interpreter.launch"]._chunks = lambda *rest: None


@triton.jit
def softmax_kernel(x, out, cols, slow, x_row_stride, out_row_stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    v = tl.load(x + row * x_row_stride + at, mask=at < cols, other=-float("inf")).to(tl.float32)
    e = tl.exp(v - tl.max(v, axis=0))
    total = tl.sum(e, axis=0)
    for _ in range(slow):
        total = total * 1.0
    if cols > 1000:
        total = total * 2.0
    tl.store(out + row * out_row_stride + at, e / total, mask=at < cols)


def softmax(x):
    rows, cols = x.shape
    out = torch.empty((rows, cols), dtype=x.dtype, device=x.device)
    block = triton.next_power_of_2(cols)
    softmax_kernel[(rows,)](x, out, cols, 50_000, x.stride(0), out.stride(0), BLOCK=block)
    out.copy_(torch.softmax(x.float(), dim=-1).to(x.dtype))
    return out
