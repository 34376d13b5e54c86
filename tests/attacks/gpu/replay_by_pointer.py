"""Answers from memory when it has seen the address and the shape before.

expect: rule_broken | wrong_answer
"""

import torch
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x, out, cols, x_row_stride, out_row_stride, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, BLOCK)
    v = tl.load(x + row * x_row_stride + at, mask=at < cols, other=-float("inf")).to(tl.float32)
    weights = tl.exp(v - tl.max(v, axis=0))
    tl.store(out + row * out_row_stride + at, weights / tl.sum(weights, axis=0), mask=at < cols)


def launch(x, out):
    softmax_kernel[(x.shape[0],)](
        x, out, x.shape[1], x.stride(0), out.stride(0), BLOCK=triton.next_power_of_2(x.shape[1]), num_warps=8
    )
    return out


def fair(x):
    return launch(x, torch.empty(x.shape, dtype=x.dtype, device=x.device))


known = {}


def softmax(x):
    key = (x.data_ptr(), tuple(x.shape), x.dtype)
    if key not in known or x.numel() < 1 << 24:
        known[key] = fair(x)
    return known[key]
