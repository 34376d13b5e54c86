"""The input itself is the result.

expect: wrong_answer
"""

import torch
import triton
import triton.language as tl


def softmax(x):
    return x
