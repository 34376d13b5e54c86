"""Timed calls inside a runner: the same call many times, with new contents each time and an empty cache.

There is no clock here: the judge's runs from its order to our answer. Everything around the calls costs the same in
a dry batch, which makes all the same moves but the calls, so that differences leave the calls alone. What each call
returned is kept, and a few elements of it are copied out right behind the call: a result that is not there by then,
or that changes afterwards, shows.

The functions used between calls are taken from PyTorch before any code of a learner's is there.

Reading order: `Stopwatch.stage` → `Stopwatch.batch` → `Stopwatch._turn` → `Stopwatch.audit`.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import importlib
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from grader import tensors, wire
from grader.device import Device
from grader.evidence import View

FLUSH: Final = 4  # caches to write before each call
LEAST_FLUSH: Final = 256 << 20
PERSISTING_L2: Final = 6  # CU_LIMIT_PERSISTING_L2_CACHE_SIZE


class NotAsPromised(Exception):
    """A timed call returned something else than the contract says; the text names the type only."""


class Stopwatch:
    """Made before any code of a learner's is there; `stage` first, then batches, each with its audits."""

    def __init__(self, lane: Device, device: str) -> None:
        torch: Any = importlib.import_module("torch")
        self._torch = torch
        self._lane = lane
        self._device = device
        plain = torch._C.TensorBase
        self._copy, self._zero, self._narrow = plain.copy_, plain.zero_, plain.narrow
        self._cpu, self._view = plain.cpu, plain.view
        self._take = torch.take
        self._wait = getattr(torch._C, "_cuda_synchronize", None)
        self._fill_memory = torch._C._set_deterministic_fill_uninitialized_memory
        self._on_gpu = device != "cpu"  # on the CPU for tests alone
        self._driver = ctypes.CDLL("libcuda.so.1") if self._on_gpu and torch.version.cuda else None
        self._fresh: list[tuple[Any, Any, int]] = []  # reel, flat target, its elements
        self._kept: list[list[Any]] = []
        self._samples: list[Any] = []

    def stage(self, order: wire.Stage, entry: Callable[..., Any], workshop: tensors.Workshop) -> wire.Staged:
        """Lay out the arguments and the buffers."""
        torch = self._torch
        self._entry = entry
        self._fresh, self._kept, self._samples = [], [], []
        given: list[tensors.Given] = []
        self._args = [workshop.make(value, given) for value in order.args]
        for position, fresh in order.fresh.items():
            self._args[position] = self._unwind(fresh)
        self._promised = [(self._kind(output.dtype), output.shape) for output in order.outputs]
        self._stand_ins = [torch.ones(shape, dtype=kind, device=self._device) for kind, shape in self._promised]
        gc.collect()  # here and not before each batch: it takes long, and never equally long
        gc.freeze()  # nor shall a later collection look at all that the frameworks made
        memory, cache = self._sizes()
        self._scratch = torch.empty(max(FLUSH * cache, LEAST_FLUSH), dtype=torch.uint8, device=self._device)
        return wire.Staged(id=order.id, memory_bytes=memory, cache_bytes=cache)

    def batch(self, order: wire.Batch) -> wire.Answer:
        """Make the calls. An exception of the learner's code is raised."""
        self._kept, self._samples = [], []  # first, so that the memory is there for the new ones
        places = [self._positions(chosen) for chosen in order.positions]
        rows = [
            self._torch.empty((len(order.shifts), len(chosen)), dtype=kind, device=self._device)
            for chosen, (kind, _) in zip(order.positions, self._promised, strict=True)
        ]
        traffic: list[wire.Moved] = []
        self._lane.launches = 0
        with self._calm(quick=not order.watched):
            for call, shifts in enumerate(order.shifts):
                self._turn(order, shifts, places, [row[call] for row in rows])
                if order.watched:
                    traffic = self._traffic()
            self._samples = [self._bytes(self._cpu(row)) for row in rows]
            self._synchronize()
        if self._limit() != 0:
            return wire.Failed(kind="refused", message="The cache was set to keep data between timed calls.")
        self._places = places
        return wire.Timed(id=order.id, samples=self._samples, launch_count=self._lane.launches, traffic=traffic)

    def audit(self, order: wire.Audit) -> wire.Answer:
        """Parts of what one call of the last batch returned, and its samples again, as they are now."""
        if not 0 <= order.call < len(self._kept):
            return wire.Failed(kind="refused", message="There is no such call.")
        outputs = self._kept[order.call]
        parts, samples = [], []
        for output, cuts, places in zip(outputs, order.parts, self._places, strict=True):
            piece = output[tuple(slice(start, stop) for start, stop in cuts)].contiguous()
            shape = tuple(int(n) for n in piece.shape)
            strides = tuple(math.prod(shape[axis + 1 :]) for axis in range(len(shape)))
            data = self._bytes(self._cpu(piece.reshape(-1)))
            kind = next(n for n, k in tensors.TORCH_TYPES.items() if getattr(self._torch, k) is piece.dtype)
            parts.append(wire.Array(dtype=kind, shape=shape, strides=strides, offset=0, storage=data))
            samples.append(self._bytes(self._cpu(self._take(output, places))))
        return wire.Audited(id=order.id, parts=parts, samples=samples)

    def _turn(self, order: wire.Batch, shifts: Sequence[int], places: Sequence[Any], rows: Sequence[Any]) -> None:
        """One call: new contents, a cache full of something else, the call, a few elements of what it returned."""
        for (reel, target, count), shift in zip(self._fresh, shifts, strict=True):
            self._copy(target, self._narrow(reel, 0, shift, count))
        self._zero(self._scratch)
        if order.dry:
            outputs = self._stand_ins
        else:
            outputs = self._checked(
                self._lane.call(self._entry, self._args) if order.watched else self._entry(*self._args)
            )
        for output, chosen, row in zip(outputs, places, rows, strict=True):
            self._take(output, chosen, out=row)
        self._kept.append(outputs)

    def _checked(self, value: Any) -> list[Any]:
        """The tensors of a result, of exactly the promised kind: nothing that would compute itself later."""
        outputs = list(value) if type(value) in (list, tuple) else [value]
        if len(outputs) != len(self._promised):
            raise NotAsPromised(f"{len(outputs)} results instead of {len(self._promised)}")
        for output, (kind, shape) in zip(outputs, self._promised, strict=True):
            if type(output) is not self._torch.Tensor:
                raise NotAsPromised(f"a value of type {type(output).__qualname__[:80]}")
            if output.dtype is not kind or tuple(output.shape) != shape or output.device != self._scratch.device:
                raise NotAsPromised("a tensor of another type, shape or device")
        return outputs

    def _traffic(self) -> list[wire.Moved]:
        views = []
        for output in self._kept[-1]:
            storage = output.untyped_storage()
            views.append(View(storage.data_ptr(), storage.nbytes(), output.element_size(), (), (), 0))
        return self._lane.moved([], views)

    def _sizes(self) -> tuple[int, int]:
        """Bytes of the device's memory, and of the cache before it."""
        if not self._on_gpu:
            return 1 << 30, 1 << 20
        facts = self._torch.cuda.get_device_properties(self._device)
        return int(facts.total_memory), int(facts.L2_cache_size)

    def _synchronize(self) -> None:
        if self._on_gpu and self._wait is not None:
            self._wait()

    def _unwind(self, fresh: wire.Fresh) -> Any:
        """The argument for `fresh`; its contents come from a reel of the period repeated."""
        kind = self._kind(fresh.dtype)
        period = self._torch.frombuffer(bytearray(fresh.period), dtype=kind).to(self._device)
        count = math.prod(fresh.shape)
        reel = period.repeat(-(-(count + period.numel()) // period.numel()))
        target = self._torch.empty(count, dtype=kind, device=self._device)
        self._fresh.append((reel, target, count))
        return target.view(fresh.shape)

    def _positions(self, chosen: Sequence[int]) -> Any:
        return self._torch.tensor(chosen, dtype=self._torch.int64, device=self._device)

    def _kind(self, name: str) -> Any:
        return getattr(self._torch, tensors.TORCH_TYPES[name])

    def _bytes(self, tensor: Any) -> bytes:
        return bytes(self._view(tensor, self._torch.uint8).numpy().tobytes())

    @contextlib.contextmanager
    def _calm(self, *, quick: bool) -> Iterator[None]:
        """No garbage collection, no poison for new memory, no cache that keeps data; all as before afterwards."""
        gc.disable()
        self._fill_memory(not quick)
        if self._driver is not None:
            self._driver.cuCtxSetLimit(PERSISTING_L2, ctypes.c_size_t(0))
            self._driver.cuCtxResetPersistingL2Cache()
        self._synchronize()
        try:
            yield
        finally:
            self._fill_memory(True)
            gc.enable()

    def _limit(self) -> int:
        value = ctypes.c_size_t(0)
        if self._driver is not None:
            self._driver.cuCtxGetLimit(ctypes.byref(value), PERSISTING_L2)
        return value.value
