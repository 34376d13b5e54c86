"""The file replaces the real compiler, wherever it may lie, and its own kernel does not compile.

expect: compile_error
"""

import builtins
import os
import pathlib
import sys

import torch
import triton
import triton.language as tl

for name in ("compile", "JITFunction", "CompiledKernel"):
    setattr(triton, name, lambda *a, **k: None)
for name in list(sys.modules):
    if name.startswith("triton"):
        for thing in ("compile", "ast_to_ttir", "CodeGenerator"):
            if hasattr(sys.modules[name], thing):
                setattr(sys.modules[name], thing, lambda *a, **k: None)
for folder in ("/tmp/triton", "/dev/shm/triton", "/runner/grader"):
    try:
        os.makedirs(folder, exist_ok=True)
        pathlib.Path(folder, "front_end.py").write_text("class FrontEnd: pass")
    except OSError:
        pass
os.environ["TRITON_INTERPRET"] = "1"
os.environ["TRITON_ALLOW_NON_CONSTEXPR_GLOBALS"] = "1"
builtins.CompilationError = Exception


@triton.jit
def softmax_kernel(x, out, cols, x_row_stride, out_row_stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    v = tl.load(x + row * x_row_stride + at, mask=at < cols, other=-float("inf")).to(tl.float32)
    if cols > 1000000:
        v = missing
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(out + row * out_row_stride + at, e / tl.sum(e, axis=0), mask=at < cols)


def softmax(x):
    out = torch.empty_like(x, memory_format=torch.contiguous_format)
    rows, cols = x.shape
    softmax_kernel[(rows,)](
        x, out, cols, x.stride(0), out.stride(0), BLOCK=triton.next_power_of_2(cols)
    )
    return out
