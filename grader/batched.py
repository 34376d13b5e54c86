"""The CPU lane through `grader.interpreter`: all programs of a launch together, bf16 computed right, findings kept.

`import triton` gives the interpreter's stand-in modules, so a learner's file runs unmodified and triton need not be
installed. What a launch did arrives when it ends, counted per element, and goes to the same `Recorder` that the
other lanes report to.

Reading order: `BatchedInterpreter` (the lane) → `_Bridge` (one launch to the evidence).
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from grader import interpreter, wire
from grader.evidence import Recorder, View
from grader.interpreter.dtypes import decode
from grader.interpreter.memory import is_tensor, watch
from grader.lanes import view_of
from grader.traced import Tracer

Foreign = tuple[NDArray[np.bool_], NDArray[Any]] | None
LONGEST_NAME: Final = 200
LONGEST_CONSTANT: Final = 80


class BatchedInterpreter:
    """Triton kernels in the batched evaluator. `findings` are those of the calls since `forget`."""

    def __init__(self) -> None:
        self._bridge: _Bridge | None = None

    def install(self, recorder: Recorder) -> None:
        interpreter.install()
        self._bridge = _Bridge(recorder)
        interpreter.configure(recorder=self._bridge)

    @property
    def findings(self) -> list[interpreter.Finding]:
        return list(self._bridge.findings.values()) if self._bridge else []

    def forget(self) -> None:
        """A new call begins: let go of the last one's memory and findings."""
        if self._bridge is not None:
            self._bridge.forget_call()


class _Bridge(interpreter.Recorder):
    """Tells the evidence of each launch, with the tensors that it was given."""

    def __init__(self, evidence: Recorder) -> None:
        super().__init__()
        self._evidence = evidence
        self._tracer = Tracer(evidence)
        self._foreign: dict[int, Foreign] = {}

    def forget_call(self) -> None:
        self._tracer.forget()
        self.storages.clear()
        self.launches.clear()
        self.findings.clear()

    def begin(
        self,
        kernel: str,
        grid: tuple[int, int, int],
        constants: dict[str, Any],
        settings: dict[str, Any],
        arguments: dict[str, Any],
        signature: dict[str, str],
    ) -> None:
        super().begin(kernel, grid, constants, settings, arguments, signature)
        places: dict[int, View] = {}
        for name, argument in arguments.items():
            for tensor in _tensors(argument):
                place = places[id(tensor)] = _place(tensor)
                self._evidence.uses(place, tensor, name)
                region = self._evidence.region(place.address)
                self._foreign[place.address] = region.foreign() if region else None
                self._watch_fresh(place.address)
        self._evidence.launched(
            wire.Launch(
                kernel=kernel[:LONGEST_NAME],
                grid=grid,
                constants={name: _constant(value) for name, value in constants.items()},
                num_warps=int(settings.get("num_warps") or 4),
                num_stages=int(settings.get("num_stages") or 3),
                arguments=self._tracer.arguments(arguments, places),
                fills=self._fills({place.address for place in places.values()}),
            )
        )

    def _fills(self, addresses: set[int]) -> list[wire.Fill]:
        found = (self._tracer.fill(self._evidence.region(a), self._foreign[a]) for a in sorted(addresses))
        return [fill for fill in found if fill is not None]

    def _watch_fresh(self, address: int) -> None:
        """Memory of which nobody has written an element holds one value throughout: loading that is a finding."""
        foreign = self._foreign[address]
        for (start, _), storage in self.storages.items():
            if start != address:
                continue
            fresh = foreign is not None and foreign[0].all() and len(np.unique(foreign[1])) == 1
            if fresh and storage.itemsize > 1 and _is_filling(decode(storage.flat[:1], storage.dtype)):
                watch(storage, storage.flat[0])

    def ended(self, launch: interpreter.Launch) -> None:
        for (address, _), traffic in launch.traffic.items():
            region = self._evidence.region(address)
            if region is not None:
                atomics = traffic.atomics.per_element()
                region.count(
                    traffic.loads.per_element() + atomics,
                    traffic.stores.per_element() + atomics,
                    traffic.storage.itemsize,
                    self._foreign.get(address),
                )
        launch.traffic.clear()
        launch.arguments.clear()


def _is_filling(element: NDArray[Any]) -> bool:
    """What torch fills new memory with when asked to: NaN, or the largest integer."""
    if element.dtype.kind == "f":
        return bool(np.isnan(element[0]))
    return element.dtype.kind == "i" and int(element[0]) == np.iinfo(element.dtype).max


def _tensors(argument: Any) -> list[Any]:
    if isinstance(argument, tuple | list):
        return [tensor for item in argument for tensor in _tensors(item)]
    if hasattr(argument, "block_shape") and hasattr(argument, "base"):  # a tensor descriptor made by the host
        return _tensors(argument.base)
    return [argument] if is_tensor(argument) else []


def _place(tensor: Any) -> View:
    if not isinstance(tensor, np.ndarray):
        return view_of(tensor)
    root = tensor
    while isinstance(root.base, np.ndarray):
        root = root.base
    start = int(root.__array_interface__["data"][0])
    offset = (int(tensor.__array_interface__["data"][0]) - start) // tensor.itemsize
    strides = tuple(step // tensor.itemsize for step in tensor.strides)
    return View(start, root.nbytes, tensor.itemsize, tensor.shape, strides, offset)


def _constant(value: Any) -> int | float | bool | str:
    return value if isinstance(value, int | float | bool) else str(value)[:LONGEST_CONSTANT]
