"""An exception whose text and class lie, run for ever, and raise.

expect: runtime_error
"""

import torch
import triton
import triton.language as tl


class Meta(type):
    def __repr__(cls):
        raise SystemExit(0)


class Worst(BaseException, metaclass=Meta):
    def __str__(self):
        raise RecursionError(self)

    __repr__ = __str__


def softmax(x):
    raise Worst("{0.__class__}", "%s%n", "\x1b[2J")
