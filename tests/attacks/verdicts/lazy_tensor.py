"""The result is a subclass that computes when it is looked at.

expect: wrong_answer
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


class Lazy(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        with torch._C.DisableTorchFunctionSubclass():
            return function(*(a.as_subclass(torch.Tensor) if isinstance(a, Lazy) else a for a in args), **(kwargs or {}))


def softmax(x):
    return fair(x).as_subclass(Lazy)
