"""The counting object is found by the garbage collector and told that every byte is known.

expect: rule_broken
"""

import torch
import triton
import triton.language as tl


@triton.jit
def copy_kernel(x, out, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n, other=0.0), mask=at < n)


def copied(source):
    source = source.contiguous()
    out = torch.empty_like(source)
    n = source.numel()
    copy_kernel[(1,)](source, out, n, BLOCK=triton.next_power_of_2(n))
    return out

import gc


def softmax(x):
    answer = torch.softmax(x.float(), dim=-1).to(x.dtype)
    for thing in gc.get_objects():
        if type(thing).__name__ == "Recorder" and hasattr(thing, "_regions"):
            place = type(thing.__dict__["_regions"][0].view)
            view = place(answer.data_ptr(), answer.untyped_storage().nbytes(), answer.element_size(), tuple(answer.shape), tuple(answer.stride()), 0)
            thing.uses(view, answer)
            thing.region(answer.data_ptr())._known[:] = True
    return copied(answer)
