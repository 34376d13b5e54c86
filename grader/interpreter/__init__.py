"""Triton kernels on the CPU: all programs of a launch together, and strict about what a GPU leaves undefined.

Reading order: `standin` (what `import triton` gives) → `jit` (a kernel from its source) → `launch` (grid to chunks)
→ `block`, `statements`, `loops`, `compiling`, `operators`, `names`, `calls` (syntax tree to closures) →
`divergence` (programs that part ways) → `value` (what a variable holds) → `language` (the functions of `tl`, one
subject a file) → `access`, `address`, `memory` (loads and stores) → `record`, `counting`, `races` (the evidence) →
`stepping` (one program, step by step).

    from grader import interpreter
    interpreter.install()                      # from here on `import triton` is ours
    record = interpreter.Recorder()
    interpreter.configure(recorder=record)     # optional: bytes moved, findings
"""

from grader.interpreter.errors import Fault, KernelError, Rejected, Unsupported
from grader.interpreter.launch import configure
from grader.interpreter.record import Finding, Launch, Recorder
from grader.interpreter.run import Options
from grader.interpreter.standin import install, installed
from grader.interpreter.stepping import Shown, Step, Stepper

__all__ = [
    "Fault",
    "Finding",
    "KernelError",
    "Launch",
    "Options",
    "Recorder",
    "Rejected",
    "Shown",
    "Step",
    "Stepper",
    "Unsupported",
    "configure",
    "install",
    "installed",
]
