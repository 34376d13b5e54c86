"""An exception whose text ends the process.

expect: runtime_error
"""

import torch
import triton
import triton.language as tl

import os


class Last(Exception):
    def __str__(self):
        os._exit(0)


def softmax(x):
    raise Last()
