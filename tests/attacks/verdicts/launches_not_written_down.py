"""No launch is written down, so that there is nothing to run again and nothing to compile.

expect: rule_broken
"""

import sys

import torch
import triton
import triton.language as tl

evidence = sys.modules["grader.evidence"]


def launched(self, launch):
    self._launch_count = 0


evidence.Recorder.launched = launched
finish = evidence.Recorder.finish


def finished(self, returned):
    launches, _, moved = finish(self, returned)
    return [], 1, moved


evidence.Recorder.finish = finished


@triton.jit
def softmax_kernel(x, out, cols, x_row_stride, out_row_stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    v = tl.load(x + row * x_row_stride + at, mask=at < cols, other=-float("inf")).to(tl.float32)
    if cols > 1000000:
        v = missing
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(out + row * out_row_stride + at, e / tl.sum(e, axis=0), mask=at < cols)


def softmax(x):
    rows, cols = x.shape
    out = torch.empty((rows, cols), dtype=x.dtype, device=x.device)
    softmax_kernel[(rows,)](x, out, cols, x.stride(0), out.stride(0), BLOCK=triton.next_power_of_2(cols))
    return out
