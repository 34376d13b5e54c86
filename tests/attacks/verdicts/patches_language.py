"""tl.exp and tl.load replaced by functions of the host.

expect: rule_broken
"""

import torch
import triton
import triton.language as tl


tl.load = lambda *a, **k: 0.0
tl.store = lambda *a, **k: None
triton.jit = lambda f: f


def softmax(x):
    return torch.softmax(x.float(), dim=-1).to(x.dtype)
