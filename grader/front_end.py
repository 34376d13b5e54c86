"""What the real compiler says of the kernels that a run launched: refused with a line, or what a program costs.

Compiling needs triton but no GPU. It runs the learner's file once more, with the real triton, so this belongs into
a confined process of its own: `python -m grader.front_end` reads one `Job` from stdin and writes one `Answer` to
stdout, both JSON.

Reading order: `main` → `examine` (all launches) → `_compiled` (one).
"""

from __future__ import annotations

import importlib
import io
import linecache
import os
import re
import subprocess
import sys
import tempfile
import types
from pathlib import Path
from typing import Any, Final

import msgspec

LONGEST: Final = 500
ALIGNMENT: Final = 16  # bytes or units that the compiler is told a pointer or size is a multiple of


class Launched(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One kernel as it was launched. `signature` has "*fp32", "i32", … by parameter; the rest are `constants`."""

    kernel: str
    signature: dict[str, str]
    constants: dict[str, int | float | bool | str | None]
    integers: dict[str, int] = {}  # values of integer arguments: 1 and multiples of 16 are special to the compiler
    num_warps: int = 4
    num_stages: int = 3


class Job(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A learner's file and what it launched. `capability` is 80, 90, …"""

    source: str
    filename: str
    launches: list[Launched]
    capability: int = 90


class Compiled(msgspec.Struct, frozen=True):
    """One launch, compiled or refused. Shared memory is bytes a program, registers are a thread's."""

    kernel: str
    refused: str = ""
    line: int | None = None
    registers: int | None = None
    spilled_bytes: int | None = None
    shared_bytes: int | None = None


class Answer(msgspec.Struct, frozen=True):
    launches: list[Compiled]
    trouble: str = ""  # why nothing could be compiled: not the learner's fault


def main() -> int:
    job = msgspec.json.decode(sys.stdin.buffer.read(), type=Job)
    answers = os.dup(1)
    os.dup2(2, 1)  # what the file or the compiler prints is no part of the answer
    with os.fdopen(answers, "wb") as out:
        out.write(msgspec.json.encode(examine(job)))
    return 0


def examine(job: Job) -> Answer:
    """Compile every launch for the target. Runs the learner's file."""
    try:
        triton: Any = importlib.import_module("triton")
    except ImportError as error:
        return Answer([], f"triton is not installed: {error}")
    lines = io.StringIO(job.source, newline=None).readlines()
    linecache.cache[job.filename] = (len(job.source), None, lines, job.filename)
    module = types.ModuleType("submission")
    module.__file__ = job.filename
    sys.modules["submission"] = module
    try:
        exec(compile(job.source, job.filename, "exec", dont_inherit=True), module.__dict__)  # noqa: S102
    except Exception as error:
        return Answer([], f"the file does not load with triton {triton.__version__}: {error}"[:LONGEST])
    return Answer([_compiled(triton, module, launched, job.capability) for launched in job.launches])


def _compiled(triton: Any, module: types.ModuleType, launched: Launched, capability: int) -> Compiled:
    function = _jitted(module.__dict__.get(launched.kernel))
    if function is None:
        return Compiled(launched.kernel, refused="there is no kernel of that name in the file")
    target = importlib.import_module("triton.backends.compiler").GPUTarget("cuda", capability, 32)
    options = {"num_warps": launched.num_warps, "num_stages": launched.num_stages}
    try:
        kernel = triton.compile(_source(function, launched, module), target=target, options=options)
    except Exception as error:
        text, line = _reason(error, function)
        return Compiled(launched.kernel, refused=text[:LONGEST], line=line)
    registers, spilled = _usage(kernel.asm["ptx"], capability)
    return Compiled(launched.kernel, "", None, registers, spilled, int(kernel.metadata.shared))


def _jitted(found: Any) -> Any:
    """The function below autotune and heuristics."""
    while (found is not None and not hasattr(found, "arg_names")) or hasattr(found, "configs"):
        found = getattr(found, "fn", None)
    while hasattr(found, "values") and hasattr(found, "fn"):
        found = found.fn
    return found


def _source(function: Any, launched: Launched, module: types.ModuleType) -> Any:
    """The kernel with its types, specialised as a launch specialises it."""
    compiler: Any = importlib.import_module("triton.compiler")
    signature, constants, attributes = {}, {}, {}
    for place, name in enumerate(function.arg_names):
        kind = launched.signature.get(name, "constexpr")
        if launched.integers.get(name) == 1:
            kind, constants[(place,)] = "constexpr", 1
        elif kind == "constexpr":
            constants[(place,)] = _constant(launched.constants.get(name), module)
        elif kind.startswith("*") or launched.integers.get(name, 1) % ALIGNMENT == 0:
            attributes[(place,)] = [["tt.divisibility", ALIGNMENT]]
        signature[name] = kind
    return compiler.ASTSource(function, signature, constants, attributes)


def _constant(value: Any, module: types.ModuleType) -> Any:
    """A constant as it was before it travelled: types of the language come as their names."""
    language: Any = importlib.import_module("triton.language")
    if isinstance(value, str) and re.fullmatch(r"(fp|bf|int|uint)\d+\w*", value):
        return language.dtype(value)
    return value


def _reason(error: BaseException, function: Any) -> tuple[str, int | None]:
    """The innermost compilation error, and its line in the file."""
    line, text = None, str(error)
    seen: BaseException | None = error
    while seen is not None:
        node = getattr(seen, "node", None)
        if node is not None and hasattr(node, "lineno"):
            first = importlib.import_module("triton.runtime.jit").get_jit_fn_file_line(function)[1]
            line = int(node.lineno) + int(first) - 1
        message = getattr(seen, "error_message", None) or str(seen).strip().splitlines()[-1:]
        text = message if isinstance(message, str) else "".join(message) or text
        seen = seen.__cause__
    return text.strip(), line


def _usage(ptx: str, capability: int) -> tuple[int | None, int | None]:
    """Registers a thread and bytes spilled, as the assembler reports them; None where there is no assembler."""
    nvidia = importlib.import_module("triton.backends.nvidia").__file__
    assembler = Path(nvidia or "").parent / "bin" / "ptxas"
    if not assembler.exists():
        return None, None
    suffix = "a" if capability >= 90 else ""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kernel.ptx"
        path.write_text(ptx)
        command = [str(assembler), "-v", f"--gpu-name=sm_{capability}{suffix}", str(path), "-o", f"{path}.o"]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)  # noqa: S603
    registers = re.search(r"Used (\d+) registers", done.stderr)
    spilled = re.search(r"(\d+) bytes spill stores", done.stderr)
    return (int(registers[1]) if registers else None), (int(spilled[1]) if spilled else None)


if __name__ == "__main__":
    sys.exit(main())
