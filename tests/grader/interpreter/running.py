"""Kernels from source text, run by the interpreter in this process."""

from __future__ import annotations

import importlib.util
import itertools
import linecache
import textwrap
from pathlib import Path
from types import ModuleType
from typing import Any

from grader import interpreter

HEAD = "import triton\nimport triton.language as tl\n"
_NUMBERS = itertools.count()


def module(source: str) -> ModuleType:
    """A module made of `source`, with `triton` and `tl` of the stand-in. Its first line is line 1."""
    name = f"kernel_file_{next(_NUMBERS)}.py"
    text = textwrap.dedent(source).lstrip("\n")
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    out = ModuleType("learner")
    out.__file__ = name
    with interpreter.installed():
        exec(compile(HEAD, "head.py", "exec"), out.__dict__)
        exec(compile(text, name, "exec", dont_inherit=True), out.__dict__)
    return out


def launch(
    source: str,
    grid: Any,
    *args: Any,
    kernel: str = "kernel",
    options: interpreter.Options | None = None,
    **constants: Any,
) -> interpreter.Recorder:
    """Run the function `kernel` of `source`; everything that was seen."""
    record = interpreter.Recorder()
    found = getattr(module(source), kernel)
    interpreter.configure(options=options, recorder=record)
    try:
        found[grid](*args, **constants)
    finally:
        interpreter.configure()
    return record


def kinds(record: interpreter.Recorder) -> list[str]:
    return sorted({finding.kind for finding in record.findings.values()})


def only(record: interpreter.Recorder) -> interpreter.Finding:
    """The one finding there is."""
    (finding,) = record.findings.values()
    return finding


def corpus() -> ModuleType:
    """`corpus.py`, with the stand-in as its triton."""
    path = Path(__file__).parent / "corpus.py"
    spec = importlib.util.spec_from_file_location("corpus_of_ours", path)
    assert spec is not None
    assert spec.loader is not None
    out = importlib.util.module_from_spec(spec)
    with interpreter.installed():
        spec.loader.exec_module(out)
    return out


def recorded(kernel: Any, grid: Any, *args: Any, **constants: Any) -> interpreter.Recorder:
    """Launch a kernel that is there already; everything that was seen."""
    record = interpreter.Recorder()
    interpreter.configure(recorder=record)
    try:
        kernel[grid](*args, **constants)
    finally:
        interpreter.configure()
    return record
