"""The tensors that a kernel is given, by storage: no copies, NumPy views of the very bytes.

`Storage` is one allocation seen as a flat array of one element type; `View` is one argument of a launch: a storage
plus where the argument's own elements lie in it. A pointer value is an element index into the storage.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import math
import sys
from typing import Any

import numpy as np

from grader.interpreter import dtypes
from grader.interpreter.dtypes import Array, DType
from grader.interpreter.errors import Rejected, Unsupported

_TORCH_TYPES = {
    "torch.bool": dtypes.int1,
    "torch.int8": dtypes.int8,
    "torch.int16": dtypes.int16,
    "torch.int32": dtypes.int32,
    "torch.int64": dtypes.int64,
    "torch.uint8": dtypes.uint8,
    "torch.uint16": dtypes.uint16,
    "torch.uint32": dtypes.uint32,
    "torch.uint64": dtypes.uint64,
    "torch.float16": dtypes.float16,
    "torch.bfloat16": dtypes.bfloat16,
    "torch.float32": dtypes.float32,
    "torch.float64": dtypes.float64,
    "torch.float8_e4m3fn": dtypes.float8e4nv,
    "torch.float8_e5m2": dtypes.float8e5,
}
_NUMPY_TYPES = {
    dtype.raw: dtype
    for name, dtype in dtypes.NAMED.items()
    if name not in ("bf16", "fp8e4nv", "fp8e5")  # NumPy has no such types
}


class Storage:
    """One allocation as elements of one type. `flat` shares the caller's memory."""

    def __init__(self, key: tuple[int, str], flat: Array, dtype: DType, owner: object) -> None:
        self.key = key
        self.flat = flat
        self.dtype = dtype
        self.size = int(flat.size)
        self.itemsize = int(flat.itemsize)
        self.owner = owner  # keeps the memory alive
        self.garbage: Array | None = None  # the bits of elements that nobody has written, where that is watched
        self._rows: dict[int, Array] = {}

    def rows(self, length: int) -> Array:
        """Overlapping rows: row i is elements i to i + length. Writable where the memory is."""
        known = self._rows.get(length)
        if known is None:
            step = self.flat.strides[0]
            known = self._rows[length] = np.lib.stride_tricks.as_strided(
                self.flat, (self.size - length + 1, length), (step, step)
            )
        return known


class View:
    """One tensor argument: `offset` and `strides` in elements of the storage. `low`..`high` are its own extent."""

    def __init__(self, name: str, storage: Storage, offset: int, shape: tuple[int, ...], strides: tuple[int, ...]):
        self.name = name
        self.storage = storage
        self.offset = offset
        self.shape = shape
        self.strides = strides
        reach = [(size - 1) * stride for size, stride in zip(shape, strides, strict=True)]
        empty = math.prod(shape) == 0
        self.low = offset + sum(x for x in reach if x < 0)
        self.high = offset - 1 if empty else offset + sum(x for x in reach if x > 0)

    @property
    def dtype(self) -> DType:
        return self.storage.dtype

    def element(self, index: int) -> str:
        """An element of the storage, written as the learner indexes the tensor."""
        place = index - self.offset
        expected = 1
        for size, stride in zip(reversed(self.shape), reversed(self.strides), strict=True):
            if size != 1 and stride != expected:
                return f"{self.name}[element {place} from its start, strides {self.strides}]"
            expected *= size
        if self.shape and 0 <= place < math.prod(self.shape):
            return f"{self.name}[{', '.join(str(int(i)) for i in np.unravel_index(place, self.shape))}]"
        return f"{self.name}[{place}]"


def is_tensor(x: Any) -> bool:
    return isinstance(x, np.ndarray) or (hasattr(x, "data_ptr") and hasattr(x, "untyped_storage"))


def tensor_dtype(x: Any) -> DType:
    """The element type of a torch tensor or NumPy array."""
    if isinstance(element := getattr(x, "element", None), DType):
        return element  # an array that holds a type which NumPy lacks
    found = _NUMPY_TYPES.get(x.dtype) if isinstance(x, np.ndarray) else _TORCH_TYPES.get(str(x.dtype))
    if found is None and isinstance(x, np.ndarray) and x.dtype.newbyteorder("=") in _NUMPY_TYPES:
        raise Unsupported(
            f"an array of {x.dtype.newbyteorder('=')} whose bytes are in the order of another machine "
            f"({x.dtype.str}) cannot be given to a kernel; convert it with .astype(x.dtype.newbyteorder('='))"
        )
    if found is None:
        raise Unsupported(f"tensors of {x.dtype} are not supported")
    return found


def view_of(name: str, x: Any, known: dict[tuple[int, str], Storage]) -> View:
    """The argument `x` (torch tensor or NumPy array), sharing the `Storage` of others where they overlap."""
    return _numpy_view(name, x, known) if isinstance(x, np.ndarray) else _torch_view(name, x, known)


def _numpy_view(name: str, x: Array, known: dict[tuple[int, str], Storage]) -> View:
    root = x
    while isinstance(root.base, np.ndarray):
        root = root.base
    if not root.flags.c_contiguous or any(step % x.itemsize for step in x.strides):
        root = x
        if not x.flags.c_contiguous:
            raise Unsupported(f"{name}: this array's memory layout cannot be shared")
    start = root.__array_interface__["data"][0]
    dtype = tensor_dtype(x)
    key = (start, dtype.name)
    if key not in known:
        whole = root.reshape(-1).view(np.uint8)
        known[key] = Storage(key, whole[: whole.size // x.itemsize * x.itemsize].view(dtype.raw), dtype, root)
    offset = (x.__array_interface__["data"][0] - start) // x.itemsize
    return View(name, known[key], offset, x.shape, tuple(step // x.itemsize for step in x.strides))


def _torch_view(name: str, x: Any, known: dict[tuple[int, str], Storage]) -> View:
    if x.device.type != "cpu":
        raise Rejected(f"{name} lies on {x.device}; this lane runs on the CPU")
    dtype = tensor_dtype(x)
    memory = x.untyped_storage()
    key = (memory.data_ptr(), dtype.name)
    if key not in known:
        import torch

        whole = torch.empty(0, dtype=torch.uint8).set_(memory).numpy()
        flat = whole[: whole.size // dtype.itemsize * dtype.itemsize].view(dtype.raw)
        known[key] = Storage(key, flat, dtype, memory)
    return View(name, known[key], int(x.storage_offset()), tuple(x.shape), tuple(x.stride()))


def tensor_at(low: int, high: int, dtype: DType, known: dict[tuple[int, str], Storage]) -> View | None:
    """The tensor of this element type whose storage holds the addresses `low` to `high`: pointers may travel as
    integers, and such a tensor need not be an argument. Only torch tensors can be found.
    """
    torch: Any = sys.modules.get("torch")
    for thing in gc.get_objects() if torch is not None else ():
        if issubclass(type(thing), torch.Tensor) and thing.device.type == "cpu" and thing.layout is torch.strided:
            memory = thing.untyped_storage()
            inside = memory.data_ptr() <= low and high < memory.data_ptr() + memory.nbytes()
            if inside and _TORCH_TYPES.get(str(thing.dtype)) is dtype:
                return _torch_view(f"tensor at {low:#x}", thing, known)
    return None


def keep_freed_memory() -> None:
    """Tell glibc to keep freed pages: without it every operation on large tiles pays for their page faults again.

    Measured on attention, S=512: 20 ms instead of 12. Other C libraries are left as they are.
    """
    trim_threshold, mmap_threshold, most = -1, -3, 1 << 28
    with contextlib.suppress(OSError, AttributeError):
        libc = ctypes.CDLL("libc.so.6")
        libc.mallopt(trim_threshold, most)
        libc.mallopt(mmap_threshold, most)


def watch(storage: Storage, garbage: Any) -> None:
    """Report loads of elements whose bits are those of `garbage`, with which fresh memory was filled."""
    storage.garbage = np.array(garbage, storage.flat.dtype)
