"""The interpreter's launch is patched: a library computes, in the name of the kernel.

expect: rule_broken
"""

import torch
import triton
import triton.language as tl

import sys


def softmax(x):
    jit = sys.modules["grader.interpreter.jit"]
    plain = jit.launch

    def launch(kernel, grid, args, kwargs):
        store = sys.modules["grader.evidence"].Region.count

        def count(self, *rest):
            if self.label == "out":
                args[1].copy_(torch.softmax(args[0].float(), dim=-1).to(args[0].dtype))
            return store(self, *rest)

        sys.modules["grader.evidence"].Region.count = count
        try:
            plain(kernel, grid, args, kwargs)
        finally:
            sys.modules["grader.evidence"].Region.count = store

    jit.launch = launch
    try:
        return wrong(x)
    finally:
        jit.launch = plain


@triton.jit
def wrong_kernel(x, out, cols, x_row_stride, out_row_stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    v = tl.load(x + row * x_row_stride + at, mask=at < cols, other=0.0)
    tl.store(out + row * out_row_stride + at, v, mask=at < cols)


def wrong(x):
    rows, cols = x.shape
    out = torch.empty((rows, cols), dtype=x.dtype, device=x.device)
    wrong_kernel[(rows,)](x, out, cols, x.stride(0), out.stride(0), BLOCK=triton.next_power_of_2(cols))
    return out
