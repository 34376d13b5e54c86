"""An exception in the learner's terms: their lines only, the first cause, and no more text than a page can hold."""

from __future__ import annotations

import errno
import io
import linecache
import sys
from collections.abc import Iterator, Sequence
from typing import Final

from grader import wire

LONGEST_MESSAGE: Final = 2000
MOST_FRAMES: Final = 20


def remember(source: str, filename: str) -> None:
    """Let tracebacks and `inspect` find the file's lines, cut as Python cuts them: at no other signs."""
    lines = io.StringIO(source, newline=None).readlines()
    linecache.cache[filename] = (len(source), None, lines, filename)


def failed(error: BaseException, filename: str, findings: Sequence[wire.Finding] = ()) -> wire.Failed:
    """What to tell the judge about an exception that came out of the learner's code."""
    root = first_cause(error)
    frames = list(_frames(error, filename))
    text = "\n".join(_frame_text(filename, line, name) for line, name in frames[-MOST_FRAMES:])
    kind = "out_of_memory" if is_out_of_memory(root) else "raised"
    if is_kernel_error(root) and getattr(root, "refused", False):
        kind = "compile_error"  # the lane found it when the kernel was launched; a compiler would have, before
    line = frames[-1][0] if frames else None
    message = describe(root)
    names = [base.__name__[:200] for base in type(root).__mro__][:MOST_FRAMES]
    return wire.Failed(kind=kind, message=message, traceback=text, line=line, findings=list(findings), error=names)


def uncompilable(error: Exception, filename: str) -> wire.Failed:
    """What to tell about a file that is not Python."""
    line = error.lineno if isinstance(error, SyntaxError) else None
    message = f"{type(error).__name__}: {error.msg}" if isinstance(error, SyntaxError) else describe(error)
    text = _frame_text(filename, line, "") if line else ""
    return wire.Failed(kind="compile_error", message=message[:LONGEST_MESSAGE], traceback=text, line=line)


def first_cause(error: BaseException) -> BaseException:
    """Below the wrappers that Triton's interpreter puts around whatever goes wrong in a kernel."""
    while type(error).__name__ in ("InterpreterError", "CompilationError") and error.__cause__ is not None:
        error = error.__cause__
    return error


def describe(error: BaseException) -> str:
    """Type and message, shortened. The message is the learner's code too: asking for it may raise."""
    if isinstance(error, SystemExit):
        return "SystemExit: the code asked Python to stop."
    try:
        text = str(error)
    except BaseException:
        text = "(its message cannot be shown)"
    name = "" if is_kernel_error(error) else type(error).__name__  # its words stand alone
    whole = f"{name}: {text}" if name and text else name or text
    short = whole if len(whole) <= LONGEST_MESSAGE else whole[:LONGEST_MESSAGE] + " …"
    return short.encode("utf-8", "replace").decode()  # half a surrogate pair has no bytes to travel as


def is_kernel_error(error: BaseException) -> bool:
    """Whether our interpreter raised it. Asked of what is loaded: importing it would bring PyTorch along."""
    errors = sys.modules.get("grader.interpreter.errors")
    return errors is not None and isinstance(error, errors.KernelError)


def is_out_of_memory(error: BaseException) -> bool:
    """Whether memory was refused: Python's error, or one of PyTorch's."""
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
        return True
    if isinstance(error, OSError) and error.errno == errno.ENOMEM:
        return True
    return isinstance(error, RuntimeError) and "can't allocate memory" in describe(error)


def _frames(error: BaseException, filename: str) -> Iterator[tuple[int, str]]:
    """The learner's frames, outermost first, through the causes."""
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        trace = current.__traceback__
        while trace is not None:
            code = trace.tb_frame.f_code
            if code.co_filename == filename:
                yield trace.tb_lineno, code.co_name
            trace = trace.tb_next
        wrapped = first_cause(current) is not current
        current = current.__cause__ if wrapped else None


def _frame_text(filename: str, line: int, name: str) -> str:
    where = f'File "{filename}", line {line}' + (f", in {name}" if name else "")
    source = linecache.getline(filename, line).strip()[:200]
    return f"{where}\n    {source}" if source else where
