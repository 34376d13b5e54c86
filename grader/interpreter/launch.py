"""Launching: arguments → values, the grid → chunks of programs that fit the memory budget."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from grader.interpreter.descriptors import host_descriptor
from grader.interpreter.dtypes import Array, PointerType, float32, int64
from grader.interpreter.errors import KernelError, Rejected, in_learner_terms
from grader.interpreter.memory import Storage, is_tensor, keep_freed_memory, view_of
from grader.interpreter.record import Recorder
from grader.interpreter.run import Options, Rechunk, Run
from grader.interpreter.scope import unwrap
from grader.interpreter.stepping import Stepper
from grader.interpreter.value import Value, is_number, number_type, scalar

if TYPE_CHECKING:
    from grader.interpreter.jit import Function

keep_freed_memory()

FIRST_CHUNK = 1024  # programs; the first chunk finds out how large their tiles are
# Of Triton's backends: they change how a kernel is compiled, not what it computes.
LAUNCH_OPTIONS = {
    "num_warps", "num_stages", "num_ctas", "maxnreg", "minnreg", "cluster_dims", "ptx_version",
    "ptx_options", "ir_override", "enable_fp_fusion", "launch_cooperative_grid", "launch_pdl", "debug",
    "sanitize_overflow", "backend_name", "arch", "extern_libs", "supported_fp8_dtypes",
    "default_dot_input_precision", "allowed_dot_input_precisions", "max_num_imprecise_acc_default",
    "instrumentation_mode", "waves_per_eu", "matrix_instr_nonkdim", "kpack", "schedule_hint",
    "allow_flush_denorm",
}  # fmt: skip

options = Options()
recorder: Recorder | None = None
stepper: Stepper | None = None


def configure(
    *, options: Options | None = None, recorder: Recorder | None = None, stepper: Stepper | None = None
) -> None:
    """How every launch from here on runs, and who watches. Without arguments: back to the defaults."""
    globals().update(options=options or Options(), recorder=recorder, stepper=stepper)


def launch(kernel: Function, grid: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Run `kernel` on every program of `grid`."""
    record = recorder or Recorder()
    given = {name: value for name, value in kwargs.items() if name not in LAUNCH_OPTIONS}
    bound = {name: unwrap(value) for name, value in kernel.bind(args, given).items()}
    size = _grid(grid, bound)
    settings = {name: kwargs[name] for name in LAUNCH_OPTIONS if name in kwargs}
    _check_warps(settings.get("num_warps"))
    constants = {name: bound[name] for name in kernel.parameters if name in kernel.constants}
    env = {name: _argument(kernel, name, value, record.storages) for name, value in bound.items()}
    signature = {name: written for name, value in env.items() if (written := _written(value))}
    record.begin(kernel.name, size, constants, settings, bound, signature)
    try:
        _chunks(kernel, size, env, record)
    finally:
        record.end()


def _grid(grid: Any, bound: dict[str, Any]) -> tuple[int, int, int]:
    sizes = grid(bound) if callable(grid) else grid
    axes = [int(size) for size in (sizes if isinstance(sizes, tuple | list) else (sizes,))]
    if not 1 <= len(axes) <= 3 or min(axes) < 0:
        raise Rejected(f"a grid has one to three sizes, none negative, got {tuple(axes)}")
    x, y, z = (*axes, 1, 1)[:3]
    return x, y, z


def _check_warps(warps: Any) -> None:
    """As the compiler demands them; None is its own choice."""
    if warps is not None and (not isinstance(warps, int) or warps not in (1, 2, 4, 8, 16, 32)):
        raise Rejected(f"num_warps must be a power of 2, at most 32, got {warps!r}")


def _argument(kernel: Function, name: str, value: Any, storages: dict[tuple[int, str], Storage]) -> Any:
    """An argument as the kernel sees it."""
    if is_tensor(value):
        return _pointer(name, value, storages)
    if isinstance(value, tuple | list) and name not in kernel.constants:
        return tuple(_argument(kernel, f"{name}[{i}]", item, storages) for i, item in enumerate(value))
    if hasattr(value, "block_shape") and hasattr(value, "base"):
        return host_descriptor(value, _pointer(name, value.base, storages))
    if name in kernel.constants or value is None or isinstance(value, str) or not is_number(value):
        return value
    if isinstance(value, float | np.floating):
        return scalar(float(value), float32)
    dtype = number_type(value)
    return scalar(value, int64 if dtype.name == "uint32" else dtype)


def _written(value: Any) -> str | None:
    """The type of a run-time argument as the compiler writes it; None for constants."""
    if not isinstance(value, Value):
        return None
    element = value.dtype.element_ty if value.dtype.is_ptr() else value.dtype
    short = {"int1": "u1"}.get(element.name, element.name.replace("uint", "u").replace("int", "i"))
    return ("*i1" if short == "u1" else f"*{short}") if value.dtype.is_ptr() else short


def _pointer(name: str, tensor: Any, storages: dict[tuple[int, str], Storage]) -> Value:
    view = view_of(name, tensor, storages)
    return Value(PointerType(view.dtype), (), np.array([view.offset], np.int64), memory=view)


def _chunks(kernel: Function, grid: tuple[int, int, int], env: dict[str, Any], record: Recorder) -> None:
    """Run the programs, x fastest, as many at a time as the budget allows."""
    total = math.prod(grid)
    run = Run(grid, options, record)
    run.stepper = stepper
    if stepper is not None:
        stepper.begin()
    numbers = np.arange(total)
    chunk = options.chunk or min(total, FIRST_CHUNK)
    run.limit = math.inf if options.chunk else 2 * options.budget
    begin, large_tiles = 0, False
    while begin < total:
        end = _cut(begin, chunk, total, grid[0])
        record.mark()
        try:
            _run_chunk(kernel, run, numbers[begin:end], env)
        except Rechunk as large:
            large_tiles = True
            record.forget()
            chunk = max(1, min(chunk // 2, options.budget // max(1, large.per_program)))
            continue
        if begin == 0 and not options.chunk and not large_tiles:
            chunk = max(chunk, 2 * options.budget * (end - begin) // run.largest)
        begin = end


def _cut(begin: int, chunk: int, total: int, width: int) -> int:
    """Where a chunk ends: at the end of a row of the grid if that is near, so that the other axes are uniform."""
    end = min(total, begin + chunk)
    if width > 1 and width > chunk // 4:
        end = min(end, (begin // width + 1) * width)
    return end


def _run_chunk(kernel: Function, run: Run, rows: Array, env: dict[str, Any]) -> None:
    run.start(rows)
    try:
        with np.errstate(all="ignore"):
            kernel.execute(run, dict(env))
    except KernelError as error:
        if not error.frames:
            error.frames = run.frames()
        raise in_learner_terms(error) from None
