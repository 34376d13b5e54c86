"""What can go wrong inside a kernel, and how it is told in terms of the learner's file.

    KernelError         something at a line of the kernel stops the launch
    ├── Rejected        the real compiler refuses this kernel too
    ├── Unsupported     fine on a GPU, but this evaluator has no such operation
    └── Fault           the kernel runs, and did what no kernel may do (outside a tensor, division by zero, …)

An error is raised deep inside the evaluator; `in_learner_terms` gives it a traceback that ends at the kernel's own
line, so that whoever prints it shows the learner's file and none of ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import TracebackType


@dataclass(frozen=True)
class Frame:
    """One level of the call stack inside a kernel."""

    file: str
    function: str
    line: int


class KernelError(Exception):
    """Stops a launch. `frames` goes from the kernel's line inwards to the device function that failed.

    `refused`: the kernel could not have been compiled (so the fault is known before anything ran).
    """

    refused = False

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message
        self.frames: tuple[Frame, ...] = ()

    @property
    def line(self) -> int | None:
        """The innermost line of the learner's kernel, from 1."""
        return self.frames[-1].line if self.frames else None

    def __str__(self) -> str:
        return self.message


class Rejected(KernelError):
    """The real compiler refuses this kernel."""

    refused = True


class Unsupported(KernelError):
    """Valid Triton that this evaluator does not offer."""

    refused = True


class Fault(KernelError):
    """Undefined behaviour that the evaluator will not carry on from."""


def in_learner_terms(error: KernelError) -> KernelError:
    """`error` with a traceback made of `error.frames` only."""
    trace: TracebackType | None = None
    for frame in reversed(error.frames):
        step = _step(frame)
        trace = TracebackType(trace, step.tb_frame, step.tb_lasti, frame.line)
    return error.with_traceback(trace)


class _Probe(Exception):
    """Raised and caught at once, to own a frame that carries somebody else's file, function and line."""


def _step(frame: Frame) -> TracebackType:
    code = compile("\n" * (frame.line - 1) + "raise probe", frame.file, "exec")
    try:
        exec(code.replace(co_name=frame.function, co_qualname=frame.function), {"probe": _Probe()})  # noqa: S102
    except _Probe as probe:
        trace = probe.__traceback__
        assert trace is not None
        assert trace.tb_next is not None
        return trace.tb_next
    raise AssertionError("the probe is always raised")
