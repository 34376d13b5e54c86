"""os._exit(0) after writing nothing.

expect: runtime_error
"""

import torch
import triton
import triton.language as tl

import os


def softmax(x):
    os._exit(0)
