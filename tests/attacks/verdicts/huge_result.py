"""A result of 64 GiB that takes no memory.

expect: wrong_answer | runtime_error | out_of_memory
"""

import torch
import triton
import triton.language as tl


def softmax(x):
    return torch.zeros(1).expand(1 << 17, 1 << 17)
