"""Escapes of terminals, pages and formats on stdout; then a wrong result.

expect: wrong_answer
"""

import torch
import triton
import triton.language as tl


def softmax(x):
    print("\x1b[2J\x1b]0;owned\x07\u202e</pre><script>alert(1)</script>{{7*7}} %s \x00\udc80".encode("utf-8", "replace").decode())
    return x
