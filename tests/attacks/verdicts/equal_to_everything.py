"""An object that says it is equal to everything, and an array of anything.

expect: wrong_answer
"""

import torch
import triton
import triton.language as tl


class Yes:
    dtype = torch.float32
    shape = property(lambda self: torch.Size((1, 1)))

    def __eq__(self, other):
        return True

    def __le__(self, other):
        return True

    def __array__(self, *args, **kwargs):
        return torch.ones(1).numpy()


def softmax(x):
    return Yes()
