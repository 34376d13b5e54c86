"""Sets a large part of the cache aside for data that must stay.

expect: runtime_error
"""

import ctypes

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


driver = ctypes.CDLL("libcuda.so.1")


def softmax(x):
    driver.cuCtxSetLimit(6, ctypes.c_size_t(32 << 20))
    return fair(x)
