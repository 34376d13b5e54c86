"""Arrays from the wire as NumPy arrays or torch tensors, and results back as bytes.

The learner's tensor is a view over a buffer that we keep: whatever they do to the view, guard bands and all are
read from the buffer afterwards.
"""

from __future__ import annotations

import hashlib
import importlib
import math
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from grader import wire
from grader.evidence import View

TORCH_TYPES: Final = {
    "fp64": "float64",
    "fp32": "float32",
    "fp16": "float16",
    "bf16": "bfloat16",
    "int64": "int64",
    "int32": "int32",
    "int16": "int16",
    "int8": "int8",
    "uint8": "uint8",
    "bool": "bool",
}


# A NumPy scalar is an array without axes; exact types only, as for everything that comes out.
NUMPY_SCALARS: Final = frozenset(kind.type for kind in wire.NUMPY_TYPES.values())


class TooLarge(Exception):
    """A result of more bytes than an answer may have."""


@dataclass(frozen=True)
class Given:
    """One array argument: what was sent, the buffer it lives in, the learner's view of it."""

    sent: wire.Array
    buffer: Any  # one axis of bytes: torch.uint8 or numpy.uint8
    value: Any

    def place(self) -> View:
        """Where it lies in memory."""
        on_numpy = isinstance(self.buffer, np.ndarray)
        address = int(self.buffer.ctypes.data) if on_numpy else int(self.buffer.data_ptr())
        itemsize = wire.NUMPY_TYPES[self.sent.dtype].itemsize
        return View(address, len(self.sent.storage), itemsize, self.sent.shape, self.sent.strides, self.sent.offset)

    def content(self) -> bytes:
        """The storage as it is now."""
        if isinstance(self.buffer, np.ndarray):
            return self.buffer.tobytes()
        return bytes(self.buffer.cpu().numpy().tobytes())

    def array(self) -> wire.Array:
        """The argument as it is now: the layout that was sent over the storage of now."""
        sent = self.sent
        return wire.Array(
            dtype=sent.dtype, shape=sent.shape, strides=sent.strides, offset=sent.offset, storage=self.content()
        )


def digest(content: bytes) -> str:
    """What `wire.Returned.args_digest` holds for a storage."""
    return hashlib.sha256(content).hexdigest()


class Workshop:
    """Makes arguments for one framework and device, and takes results."""

    def __init__(self, framework: str, device: str) -> None:
        self._torch: Any = None if framework == "numpy" else importlib.import_module("torch")
        self._device = device
        self._reusable: list[Any] = []  # buffers of the call before

    def reuse(self, given: list[Given]) -> None:
        """Let the next arguments lie where those of a call did that is over: an address says nothing of numbers."""
        self._reusable = [made.buffer for made in given] if self._device == "cpu" else []

    def make(self, value: wire.Value, given: list[Given]) -> Any:
        """The argument that `value` describes; arrays in it are added to `given`."""
        if isinstance(value, wire.Array):
            made = self._numpy(value) if self._torch is None else self._tensor(value)
            given.append(made)
            return made.value
        if isinstance(value, list):
            return [self.make(item, given) for item in value]
        if isinstance(value, dict):
            return {key: self.make(item, given) for key, item in value.items()}
        return value

    def _numpy(self, array: wire.Array) -> Given:
        buffer = self._buffer(len(array.storage))
        if buffer is None:
            buffer = np.frombuffer(bytearray(len(array.storage)), dtype=np.uint8)
        buffer[:] = np.frombuffer(array.storage, dtype=np.uint8)
        kind = wire.NUMPY_TYPES[array.dtype]
        flat = buffer.view(kind)[array.offset :]
        strides = tuple(s * kind.itemsize for s in array.strides)
        return Given(array, buffer, np.lib.stride_tricks.as_strided(flat, array.shape, strides))

    def _tensor(self, array: wire.Array) -> Given:
        torch = self._torch
        buffer = self._buffer(len(array.storage))
        if buffer is None:
            buffer = torch.empty(len(array.storage), dtype=torch.uint8)  # aligned, as frombuffer is not
        buffer.numpy()[:] = np.frombuffer(array.storage, dtype=np.uint8)
        buffer = buffer.to(self._device)
        kind = getattr(torch, TORCH_TYPES[array.dtype])
        return Given(array, buffer, buffer.view(kind).as_strided(array.shape, array.strides, array.offset))

    def _buffer(self, length: int) -> Any:
        """A buffer of the call before that is as long, for one use; ``None`` where there is none."""
        found = next((at for at, kept in enumerate(self._reusable) if len(kept) == length), None)
        return None if found is None else self._reusable.pop(found)

    def synchronize(self) -> None:
        """Wait for the device: a kernel may still be writing."""
        if self._device != "cpu":
            self._torch.cuda.synchronize(self._device)

    def reset_peak(self) -> int:
        """Start counting the device's peak memory anew; bytes allocated now."""
        self._torch.cuda.reset_peak_memory_stats(self._device)
        return int(self._torch.cuda.memory_allocated(self._device))

    def peak(self) -> int:
        """Most bytes that were allocated on the device since `reset_peak`."""
        return int(self._torch.cuda.max_memory_allocated(self._device))

    def take(self, value: Any, limit: int) -> tuple[wire.Value, list[View]]:
        """`value` for the wire, and where its tensors lie. Exact types only; others go by name.

        Raises `TooLarge`.
        """
        taker = _Taker(self._torch, limit)
        return taker.take(value, 0), taker.places


class _Taker:
    """One result on its way out."""

    def __init__(self, torch: Any, limit: int) -> None:
        self._torch = torch
        self._left = limit
        self.places: list[View] = []

    def take(self, value: Any, depth: int) -> wire.Value:
        kind = type(value)
        if value is None or kind in (bool, float, str):
            return value
        if kind is np.str_:  # an element of an array of names
            return str(value)
        if kind is int:
            return value if -(1 << 63) <= value < 1 << 64 else wire.Other(type_name="int of more than 64 bits")
        if kind in (list, tuple) and depth < wire.MAX_DEPTH:
            return [self.take(item, depth + 1) for item in value]
        if kind is dict and depth < wire.MAX_DEPTH and all(type(key) is str and key != wire.TAG for key in value):
            return {key: self.take(item, depth + 1) for key, item in value.items()}
        if kind is np.ndarray:
            return self._ndarray(value)
        if kind in NUMPY_SCALARS:
            return self._ndarray(np.asarray(value))
        if self._torch is not None and kind is self._torch.Tensor and value.layout is self._torch.strided:
            return self._tensor(value)
        return _other(kind)

    def _ndarray(self, value: Any) -> wire.Value:
        name = next((name for name, kind in wire.NUMPY_TYPES.items() if kind == value.dtype), None)
        if name is None:
            return wire.Other(type_name=f"numpy.ndarray of {value.dtype}"[:200])
        self._spend(value.size * value.itemsize)
        self.places.append(View(0, 0, value.itemsize, value.shape, (), 0))
        return wire.from_numpy(value, name)

    def _tensor(self, value: Any) -> wire.Value:
        torch = self._torch
        name = next((n for n, kind in TORCH_TYPES.items() if getattr(torch, kind) is value.dtype), None)
        if name is None:
            return wire.Other(type_name=f"torch.Tensor of {value.dtype}")
        self._spend(value.numel() * value.element_size())
        storage = value.untyped_storage()
        layout = tuple(value.shape), tuple(value.stride()), value.storage_offset()
        self.places.append(View(storage.data_ptr(), storage.nbytes(), value.element_size(), *layout))
        whole = value.detach().resolve_conj().resolve_neg().contiguous().cpu().reshape(-1)
        data = whole.view(torch.uint8).numpy().tobytes()
        shape = tuple(int(n) for n in value.shape)
        strides = tuple(math.prod(shape[axis + 1 :]) for axis in range(len(shape)))
        return wire.Array(dtype=name, shape=shape, strides=strides, offset=0, storage=data)

    def _spend(self, nbytes: int) -> None:
        self._left -= nbytes
        if self._left < 0:
            raise TooLarge("The result has more bytes than any answer to this drill.")


def _other(kind: type) -> wire.Other:
    module, name = getattr(kind, "__module__", ""), getattr(kind, "__qualname__", "?")
    whole = name if module in ("builtins", "") else f"{module}.{name}"
    return wire.Other(type_name=str(whole)[:200])
