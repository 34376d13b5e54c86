"""The lanes: what a kernel launch means inside a runner. Each installs itself once and reports to the recorder.

`Plain` runs NumPy and PyTorch as they are. `grader.batched` runs Triton kernels in our own interpreter, which is
the CPU lane; `StockInterpreter` in Triton's, with undefined values made visible, as a second opinion.
`grader.device` runs them on a GPU, compiled.
"""

from __future__ import annotations

import gc
import importlib
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from grader import wire
from grader.evidence import Recorder, View


class Lane(Protocol):
    """Installed once, before any code of a learner is there."""

    @property
    def findings(self) -> Sequence[Found]:
        """What kernels did since `forget` and should not have."""

    def install(self, recorder: Recorder) -> None:
        """Change what launching a kernel does in this process, and report to `recorder`."""

    def forget(self) -> None:
        """A new call begins."""


class Found(Protocol):
    """A finding, as much of it as travels."""

    @property
    def kind(self) -> str: ...
    @property
    def message(self) -> str: ...
    @property
    def line(self) -> int: ...
    @property
    def severity(self) -> str: ...


class Silent:
    """A lane without findings."""

    findings: Sequence[Found] = ()

    def forget(self) -> None:
        return None


class Plain(Silent):
    """No kernels: nothing to change, nothing to report."""

    def install(self, recorder: Recorder) -> None:
        return None


class StockInterpreter(Silent):
    """Triton's own interpreter. Its memory functions are replaced by ones that look first.

    Plain pointers, block pointers, descriptors and atomics all end in four functions of one native module, so that
    is where we stand. A masked load without `other` gives NaN, or the largest integer: on a GPU such lanes hold
    anything.
    """

    def install(self, recorder: Recorder) -> None:
        interpreter: Any = importlib.import_module("triton.runtime.interpreter")
        interpreter._interpreter = _Doors(interpreter._interpreter, recorder)
        _poison_masked_loads(interpreter)
        _report_launches(interpreter, recorder)
        recorder.discover = _find_tensor


class _Doors:
    """Stands in for the interpreter's native module: checks addresses, lets through, records."""

    def __init__(self, native: Any, recorder: Recorder) -> None:
        self._native = native
        self._recorder = recorder

    def __getattr__(self, name: str) -> Any:
        return getattr(self._native, name)

    def load(self, ptrs: NDArray[Any], mask: NDArray[Any], other: NDArray[Any], dtype: Any) -> Any:
        itemsize = np.dtype(dtype).itemsize
        touched = self._recorder.check(_active(ptrs, mask), itemsize, "tl.load reads")
        self._recorder.loaded(touched, itemsize)
        return self._native.load(ptrs, mask, other, dtype)

    def store(self, ptrs: NDArray[Any], value: NDArray[Any], mask: NDArray[Any]) -> Any:
        itemsize = value.dtype.itemsize
        touched = self._recorder.check(_active(ptrs, mask), itemsize, "tl.store writes")
        result = self._native.store(ptrs, value, mask)
        self._recorder.stored(touched, itemsize)
        return result

    def atomic_rmw(self, op: Any, ptrs: NDArray[Any], value: NDArray[Any], mask: NDArray[Any], sem: Any) -> Any:
        return self._atomic(_active(ptrs, mask), value, lambda: self._native.atomic_rmw(op, ptrs, value, mask, sem))

    def atomic_cas(self, ptrs: NDArray[Any], cmp: NDArray[Any], value: NDArray[Any], sem: Any) -> Any:
        return self._atomic(ptrs.reshape(-1), value, lambda: self._native.atomic_cas(ptrs, cmp, value, sem))

    def _atomic(self, active: NDArray[Any], value: NDArray[Any], act: Callable[[], Any]) -> Any:
        itemsize = value.dtype.itemsize
        touched = self._recorder.check(active, itemsize, "an atomic changes")
        self._recorder.loaded(touched, itemsize)
        result = act()
        self._recorder.stored(touched, itemsize)
        return result


def _active(ptrs: NDArray[Any], mask: Any) -> NDArray[Any]:
    """The addresses of lanes that are on. Block pointers pass their mask as a bare buffer."""
    mask = np.asarray(mask)
    return ptrs.reshape(-1) if mask.all() else ptrs[np.broadcast_to(mask, ptrs.shape)]


def _poison_masked_loads(interpreter: Any) -> None:
    plain = interpreter.InterpreterBuilder.create_masked_load

    def create_masked_load(builder: Any, ptrs: Any, mask: Any, other: Any, *rest: Any, **named: Any) -> Any:
        if other is None and not np.asarray(mask.data).all():
            other = _poison(interpreter, ptrs)
        return plain(builder, ptrs, mask, other, *rest, **named)

    interpreter.InterpreterBuilder.create_masked_load = create_masked_load


def _poison(interpreter: Any, ptrs: Any) -> Any:
    element = ptrs.get_element_ty()
    kind = np.dtype(interpreter._get_np_dtype(element))
    value: Any
    if kind.kind == "f":
        value = np.nan
    elif element.is_floating():  # bf16 and fp8 are held as their bits: all ones below the sign is NaN
        value = np.iinfo(kind).max if kind.kind == "i" else np.iinfo(kind).max >> 1
    else:
        value = True if kind.kind == "b" else np.iinfo(kind).max
    return interpreter.TensorHandle(np.full(ptrs.data.shape, value, dtype=kind), element)


def _report_launches(interpreter: Any, recorder: Recorder) -> None:
    plain = interpreter.GridExecutor.__call__

    def launch(executor: Any, *args: Any, **kwargs: Any) -> Any:
        names = {id(arg): name for name, arg in zip(executor.arg_names, args, strict=False)}
        names |= {id(arg): name for name, arg in kwargs.items()}
        for arg in (*args, *kwargs.values()):
            for tensor in tensors_in(arg):
                recorder.uses(view_of(tensor), tensor, names.get(id(arg), ""))
        warps, asked = kwargs.get("num_warps", 4), executor.grid

        def grid(values: dict[str, Any]) -> tuple[int, ...]:
            found = asked(values) if callable(asked) else asked
            found = tuple(found) if isinstance(found, tuple | list) else (found,)
            constants = {n: constant(values[n]) for n in executor.constexprs if n in values}
            where = tuple(int(extent) for extent in (*found, 1, 1, 1)[:3])
            name = str(executor.fn.__name__)[:200]
            recorder.launched(wire.Launch(kernel=name, grid=where, constants=constants, num_warps=int(warps)))
            return where

        executor.grid = grid
        return plain(executor, *args, **kwargs)

    interpreter.GridExecutor.__call__ = launch


def constant(value: Any) -> int | float | bool | str:
    """A compile-time constant as it travels."""
    value = getattr(value, "value", value)
    if isinstance(value, int | float | bool):
        return value
    return str(value)[:80]


def tensors_in(arg: Any) -> list[Any]:
    """The tensors that a kernel is given with one argument."""
    if isinstance(arg, tuple):
        return [tensor for item in arg for tensor in tensors_in(item)]
    if hasattr(arg, "block_shape") and hasattr(arg, "base"):  # a tensor descriptor made by the host
        return tensors_in(arg.base)
    if hasattr(arg, "base") and not hasattr(arg, "untyped_storage"):  # reinterpreted as another dtype
        return tensors_in(arg.base)
    return [arg] if hasattr(arg, "untyped_storage") else []


def view_of(tensor: Any) -> View:
    """Where a torch tensor lies."""
    storage = tensor.untyped_storage()
    return View(
        storage.data_ptr(), storage.nbytes(), tensor.element_size(),
        tuple(tensor.shape), tuple(tensor.stride()), tensor.storage_offset(),
    )  # fmt: skip


def _find_tensor(address: int) -> tuple[View, object] | None:
    """A live tensor around an address that no kernel was given as a parameter: pointers may travel as integers."""
    torch: Any = importlib.import_module("torch")
    for thing in gc.get_objects():
        if issubclass(type(thing), torch.Tensor) and thing.device.type == "cpu" and thing.layout is torch.strided:
            storage = thing.untyped_storage()
            if storage.data_ptr() <= address < storage.data_ptr() + storage.nbytes():
                return view_of(thing), thing
    return None
