"""The answer travels to the kernel as scalars, one launch an element.

expect: wrong_answer
"""

import torch
import triton
import triton.language as tl


@triton.jit
def put(out, at, value):
    tl.store(out + at, value)


def softmax(x):
    answer = torch.softmax(x.float(), dim=-1).to(x.dtype)
    out = torch.empty_like(answer)
    for at, value in enumerate(answer.flatten().tolist()):
        put[(1,)](out, at, value)
    return out
