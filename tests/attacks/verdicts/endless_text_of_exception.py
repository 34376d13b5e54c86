"""An exception whose text never ends.

expect: time_limit
"""

import torch
import triton
import triton.language as tl


class Endless(Exception):
    def __str__(self):
        while True:
            pass


def softmax(x):
    raise Endless()
