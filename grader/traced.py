"""Launches as data: what a kernel was given, in terms that another process can build again.

The runner's side writes this down while a learner's file runs; `grader.replay` reads it where no code of the
learner has run. It is a claim like everything else a runner says: nothing rests on it but what to try again.

Reading order: `Tracer.launch` (objects → data), `Rebuilt` (data → objects).
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from grader import wire
from grader.evidence import Recorder, Region, View, pointer
from grader.interpreter import dtypes
from grader.interpreter.host import TensorDescriptor
from grader.interpreter.jit import Function
from grader.interpreter.memory import is_tensor, tensor_dtype

DEEPEST: Final = 4
MOST_ARGUMENTS: Final = 4000  # of all launches of one call; then writing stops, since an answer has its limits
MOST_BYTES: Final = 1 << 30  # of all memory that one call's launches may use when they are run again


class Untraceable(Exception):
    """A launch was given something that cannot be written down, or what was written down makes no sense."""


class Tracer:
    """Writes launches down while they happen. `evidence` knows which memory is which."""

    def __init__(self, evidence: Recorder) -> None:
        self._evidence = evidence
        self._left = MOST_ARGUMENTS

    def forget(self) -> None:
        """A new call begins."""
        self._left = MOST_ARGUMENTS

    def arguments(self, arguments: dict[str, Any], places: dict[int, View]) -> dict[str, wire.Traced]:
        """All arguments of one launch by name; `places` says where the tensors among them lie, by their id."""
        self._left -= len(arguments)
        if self._left < 0:
            return {}
        return {name: self._written(value, places, 0) for name, value in arguments.items()}

    def fill(
        self, region: Region | None, foreign: tuple[NDArray[np.bool_], NDArray[Any]] | None
    ) -> wire.Fill | None:
        """The one value that the host put into the elements that no kernel wrote; None where there is no such."""
        if region is None or foreign is None:
            return None
        unknown, bits = foreign
        put = bits[unknown]
        if not put.size or put.min() != put.max():
            return None
        return wire.Fill(memory=region.name, value=put[:1].tobytes(), whole=bool(unknown.all()))

    def _written(self, value: Any, places: dict[int, View], depth: int) -> wire.Traced:
        if depth > DEEPEST:
            return wire.Unnamed(type_name="something nested too deeply")
        if value is None or type(value) in (bool, int, float, str):
            return value if type(value) is not int or abs(value) < 1 << 63 else wire.Unnamed(type_name="a long int")
        if isinstance(value, np.bool_ | np.integer | np.floating):
            return value.item()
        if isinstance(value, tuple | list):
            self._left -= len(value)
            if self._left < 0:
                return wire.Unnamed(type_name="too many things")
            return wire.Several(items=[self._written(item, places, depth + 1) for item in value])
        if hasattr(value, "block_shape") and hasattr(value, "base"):
            return self._descriptor(value, places)
        if is_tensor(value):
            return self._pointer(value, places)
        if isinstance(value, dtypes.DType):
            return wire.Named(name=value.name, kind="dtype")
        if isinstance(value, Function):
            return wire.Named(name=value.name, kind="function")
        return wire.Unnamed(type_name=type(value).__name__[:80])

    def _pointer(self, tensor: Any, places: dict[int, View]) -> wire.Traced:
        place = places.get(id(tensor))
        region = self._evidence.region(place.address) if place is not None else None
        if place is None or region is None:
            return wire.Unnamed(type_name="a tensor whose memory is not known")
        return pointer(region, place, tensor_dtype(tensor).name)

    def _descriptor(self, value: Any, places: dict[int, View]) -> wire.Traced:
        base = self._pointer(value.base, places)
        if not isinstance(base, wire.Pointer):
            return base
        return wire.Described(
            base=base,
            shape=[int(n) for n in value.shape],
            strides=[int(n) for n in value.strides],
            block_shape=[int(n) for n in value.block_shape],
            padding=str(value.padding)[:20],
        )


class Tensor(np.ndarray[Any, np.dtype[Any]]):
    """Elements in a memory of ours, of an element type that NumPy may not have."""

    element: dtypes.DType | None = None

    def data_ptr(self) -> int:
        return int(self.__array_interface__["data"][0])


class Rebuilt:
    """The memories of one call, and the arguments of its launches, made again from what was written down."""

    def __init__(
        self, arrays: list[wire.Array], numbers: list[int], sizes: dict[str, int], functions: dict[str, Any]
    ) -> None:
        self._functions = functions
        self.memories: dict[str, NDArray[np.uint8]] = {}
        for number, array in zip(numbers, arrays, strict=True):
            memory = np.empty(len(array.storage), dtype=np.uint8)
            memory[:] = np.frombuffer(array.storage, dtype=np.uint8)
            self.memories[f"arg{number}"] = memory
        if not 0 <= sum(sizes.values()) <= MOST_BYTES or min(sizes.values(), default=0) < 0:
            raise Untraceable("its temporary tensors are too large")
        for name, size in sizes.items():
            if name not in self.memories:
                self.memories[name] = np.full(size, 0xFF, dtype=np.uint8)  # NaN in every floating type

    def tensor(self, traced: wire.Pointer) -> Tensor:
        """The tensor there. Raises `Untraceable` when it is not inside its memory."""
        memory = self.memories.get(traced.memory)
        element = dtypes.NAMED.get({"bool": "int1"}.get(traced.dtype, traced.dtype))
        if memory is None or element is None or len(traced.shape) != len(traced.strides):
            raise Untraceable("it was given a tensor that does not exist")
        flat = memory[: len(memory) // element.itemsize * element.itemsize].view(element.raw)
        numbers = (*traced.shape, *traced.strides, traced.offset)
        last = traced.offset + sum((n - 1) * s for n, s in zip(traced.shape, traced.strides, strict=True))
        if min(numbers) < 0 or max(numbers) > wire.MAX_EXTENT or (0 not in traced.shape and last >= flat.size):
            raise Untraceable("it was given a tensor that reaches past its memory")
        strides = tuple(step * element.itemsize for step in traced.strides)
        start = 0 if 0 in traced.shape else traced.offset * element.itemsize
        made = Tensor(traced.shape, element.raw, memory, start, strides)
        made.element = element
        return made

    def argument(self, traced: wire.Traced) -> Any:
        """An argument as the launch had it. Raises `Untraceable`."""
        match traced:
            case wire.Pointer():
                return self.tensor(traced)
            case wire.Several():
                return tuple(self.argument(item) for item in traced.items)
            case wire.Described():
                base = self.tensor(traced.base)
                return TensorDescriptor(base, traced.shape, traced.strides, traced.block_shape, traced.padding)
            case wire.Named(kind="dtype") if traced.name in dtypes.NAMED:
                return dtypes.NAMED[traced.name]
            case wire.Named(kind="function") if traced.name in self._functions:
                return self._functions[traced.name]
            case wire.Named():
                raise Untraceable(f"it was given `{traced.name}`, which the file does not define by itself")
            case wire.Unnamed():
                raise Untraceable(f"it was given {traced.type_name}")
        return traced
