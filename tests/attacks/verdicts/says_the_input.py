"""Every exception tells the input: what a hidden case holds must not be told.

expect: runtime_error
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


calls = 0


def softmax(x):
    global calls
    calls += 1
    print("CANARY", calls, x.shape)
    if calls > 9:
        raise ValueError(f"CANARY {calls} {tuple(x.shape)} {x.flatten()[:8].tolist()}")
    return fair(x)
