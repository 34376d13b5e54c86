"""The flags of the result are set by hand; there is no kernel but an empty one.

expect: rule_broken
"""

import torch
import triton
import triton.language as tl

import gc


@triton.jit
def nothing(out):
    tl.store(out, tl.load(out))


def softmax(x):
    out = torch.empty_like(x.contiguous())
    nothing[(1,)](out)
    out.copy_(torch.softmax(x.float(), dim=-1).to(x.dtype))
    for thing in gc.get_objects():
        if type(thing).__name__ == "Region":
            thing._written[:] = True
            thing._known[:] = True
            thing._shadow[:] = thing._memory
            thing._foreign_bytes = 0
            thing._foreign_values = set()
    return out
