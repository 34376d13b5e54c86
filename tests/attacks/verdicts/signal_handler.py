"""A timer's handler writes the answer while the judge's side reads.

expect: rule_broken | wrong_answer | runtime_error
"""

import torch
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x, out, cols, x_row_stride, out_row_stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    v = tl.load(x + row * x_row_stride + at, mask=at < cols, other=-float("inf")).to(tl.float32)
    weights = tl.exp(v - tl.max(v, axis=0))
    tl.store(out + row * out_row_stride + at, weights / tl.sum(weights, axis=0), mask=at < cols)


def fair(x):
    rows, cols = x.shape
    out = torch.empty((rows, cols), dtype=x.dtype, device=x.device)
    softmax_kernel[(rows,)](x, out, cols, x.stride(0), out.stride(0), BLOCK=triton.next_power_of_2(cols))
    return out

import signal

state = {}


def handler(number, frame):
    if "out" in state:
        state["out"].copy_(state["answer"])


signal.signal(signal.SIGALRM, handler)
signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)


def softmax(x):
    out = fair(x)
    out.mul_(0.5)
    state["answer"], state["out"] = torch.softmax(x.float(), dim=-1).to(x.dtype), out
    return out
