"""The GPU lane inside a runner: kernels run compiled, and what can be seen from the host is seen.

A GPU does not say who wrote a byte. What the host sees is which kernels were launched with which tensors, and which
operations of PyTorch wrote to which memory. So a tensor counts as written by a kernel when the last thing that was
given its memory was one, and as computed elsewhere when a kernel is given memory that PyTorch computed. Work that
goes neither through Triton nor through PyTorch's dispatcher on this thread (CUDA through ctypes, a thread of the
learner's) is out of sight; a call with launches switched off shows whether a result needs the kernels at all.

Reading order: `Device.install` (launches) → `Device.call` → `watch` (operations of PyTorch) → `Device.moved`.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from time import perf_counter
from typing import Any, Final

from grader import wire
from grader.evidence import Recorder, View
from grader.lanes import Silent, constant, tensors_in

FILLED, LIBRARY, KERNEL = "filled", "library", "kernel"

# Memory that holds one constant everywhere carries no answer, whoever filled it.
CREATORS: Final = frozenset(
    f"aten::{name}"
    for name in (
        *("empty", "empty_like", "empty_strided", "empty_permuted", "new_empty", "new_empty_strided"),
        *("zeros", "zeros_like", "new_zeros", "ones", "ones_like", "new_ones", "full", "full_like", "new_full"),
    )
)
FILLS: Final = frozenset({"aten::fill_", "aten::zero_", "aten::resize_", "aten::set_"})


class Device(Silent):
    """Compiled kernels on a GPU: launches with grid, constants and warps, and the time spent compiling."""

    def __init__(self) -> None:
        self.compile_seconds = 0.0
        self.launches = 0
        self.muted = False
        self._compiled = False
        self._watch: Any = None
        self._begin()

    def install(self, recorder: Recorder) -> None:
        jit: Any = importlib.import_module("triton.runtime.jit")
        knobs: Any = importlib.import_module("triton").knobs
        self._watch = watch(self._noted, "cuda")
        knobs.compilation.listener = self._heard
        plain = jit.JITFunction.run

        def run(kernel: Any, *args: Any, grid: Any, warmup: bool, **kwargs: Any) -> Any:
            if warmup:
                return plain(kernel, *args, grid=grid, warmup=warmup, **kwargs)
            asked = _Asked(grid, muted=self.muted)
            self._compiled, began = False, perf_counter()
            compiled = plain(kernel, *args, grid=asked, warmup=warmup, **kwargs)
            if self._compiled:  # the launcher and the module are made in the same call
                self.compile_seconds += perf_counter() - began
            self.launches += 1
            self._launched([tensor for arg in (*args, *kwargs.values()) for tensor in tensors_in(arg)])
            recorder.launched(asked.launch(kernel, compiled))
            return compiled

        jit.JITFunction.run = run

    def call(self, entry: Callable[..., Any], arguments: Sequence[Any], *, muted: bool = False) -> Any:
        """Call `entry` and watch it; `muted` compiles kernels without launching them."""
        self._begin()
        self.muted = muted
        try:
            with self._watch or nullcontext():
                return entry(*arguments)
        finally:
            self.muted = False

    def moved(self, arguments: Sequence[View | None], returned: Sequence[View]) -> list[wire.Moved]:
        """For each argument and each returned tensor: whether a kernel wrote it last, and what foreign bytes fed
        the kernels.
        """
        named = [(f"ret{number}", view) for number, view in enumerate(returned)]
        named += [(f"arg{number}", view) for number, view in enumerate(arguments) if view is not None]
        known = {view.address for _, view in named}
        found = [
            wire.Moved(
                tensor=name,
                covered=1.0 if self._last.get(view.address) == KERNEL else 0.0,
                foreign_bytes=self._foreign.get(view.address, 0),
            )
            for name, view in named
        ]
        others = [(address, size) for address, size in self._foreign.items() if address not in known]
        return found + [
            wire.Moved(tensor=f"tmp{number}", foreign_bytes=size) for number, (_, size) in enumerate(others)
        ]

    def _begin(self) -> None:
        self.compile_seconds = 0.0
        self.launches = 0
        self._last: dict[int, str] = {}  # who wrote last, by the address of the memory
        self._foreign: dict[int, int] = {}  # bytes that a kernel was given and PyTorch had computed

    def _heard(self, **facts: Any) -> None:
        self._compiled = True

    def _noted(self, address: int, who: str) -> None:
        self._last[address] = who

    def _launched(self, tensors: Sequence[Any]) -> None:
        for tensor in tensors:
            storage = tensor.untyped_storage()
            address = int(storage.data_ptr())
            if self._last.get(address) == LIBRARY:
                self._foreign[address] = int(storage.nbytes())
            self._last[address] = KERNEL


class _Asked:
    """Stands in for the grid of one launch, since Triton asks it with all the arguments by name."""

    def __init__(self, grid: Any, *, muted: bool) -> None:
        self._grid = grid
        self._muted = muted
        self._found: tuple[int, ...] = ()
        self._values: dict[str, Any] = {}

    def __call__(self, values: dict[str, Any]) -> tuple[Any, ...]:
        found = self._grid(values) if callable(self._grid) else self._grid
        found = tuple(found) if isinstance(found, tuple | list) else (found,)
        self._found, self._values = tuple(int(extent) for extent in (*found, 1, 1, 1)[:3]), values
        return (0, 1, 1) if self._muted else found  # a launch of no programs is none

    def launch(self, kernel: Any, compiled: Any) -> wire.Launch:
        names = [str(parameter.name) for parameter in kernel.params if parameter.is_constexpr]
        return wire.Launch(
            kernel=str(kernel.fn.__name__)[:200],
            grid=self._found,
            constants={name: constant(self._values[name]) for name in names if name in self._values},
            num_warps=int(getattr(getattr(compiled, "metadata", None), "num_warps", 0)),
        )


def watch(note: Callable[[int, str], None], device: str) -> Any:
    """A mode of PyTorch's dispatcher that tells `note` whose memory each operation on this thread wrote to, and
    whether it left one constant there or something that it computed.
    """
    torch: Any = importlib.import_module("torch")
    mode: Any = importlib.import_module("torch.utils._python_dispatch").TorchDispatchMode

    def tell(value: Any, who: str) -> None:
        for tensor in _flat(value, torch.Tensor):
            if tensor.device.type == device and tensor.layout is torch.strided:
                note(int(tensor.untyped_storage().data_ptr()), who)

    class Watch(mode):  # type: ignore[misc]
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            out = func(*args, **(kwargs or {}))
            schema = func._schema
            given = dict(zip((argument.name for argument in schema.arguments), args, strict=False)) | (kwargs or {})
            for argument in schema.arguments:
                if argument.alias_info is not None and argument.alias_info.is_write and argument.name in given:
                    tell(given[argument.name], FILLED if schema.name in FILLS else LIBRARY)
            if all(returned.alias_info is None for returned in schema.returns):  # not a view, not in place
                tell(out, FILLED if schema.name in CREATORS else LIBRARY)
            return out

    return Watch()


def _flat(value: Any, kind: type) -> list[Any]:
    if isinstance(value, kind):
        return [value]
    if isinstance(value, list | tuple):
        return [tensor for item in value for tensor in _flat(item, kind)]
    return []
