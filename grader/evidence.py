"""What kernels did to memory during one call: bytes moved, elements touched, who wrote the result.

A lane (see `grader.lanes`) tells a `Recorder` of launches and of every load and store, by address. The recorder
knows tensors as regions of memory: arguments from the start of the call, others when a kernel is first given them.
NumPy only; it never looks into a framework.

A byte is *known* when its value came from the judge or from a kernel's store and has not changed since. A result is
covered as far as its bytes are known from stores; a load of bytes that are not known is foreign, since something
other than a kernel made them (a fill with one constant apart, which carries no answer).

Reading order: `Recorder` → `Region` → `OutOfBounds`.
"""

from __future__ import annotations

import bisect
import ctypes
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from grader import wire

KEPT_LAUNCHES: Final = 200
_UNSIGNED: Final[dict[int, np.dtype[Any]]] = {size: np.dtype(f"u{size}") for size in (1, 2, 4, 8)}

Pointers = NDArray[np.uint64]
Indices = NDArray[np.int64]


class OutOfBounds(IndexError):
    """A kernel's active lane reached outside every tensor."""


@dataclass(frozen=True)
class View:
    """A tensor's place in its storage, in bytes and elements: what `Recorder` needs to know of it."""

    address: int  # of the storage
    nbytes: int  # of the storage
    itemsize: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]  # elements
    offset: int  # elements

    def of(self, flags: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """One flag per element of the view, from one per element of the storage."""
        if 0 in self.shape:
            return np.zeros(self.shape, dtype=bool)
        return np.lib.stride_tricks.as_strided(flags[self.offset :], self.shape, self.strides, writeable=False)


class Recorder:
    """Collects the evidence of one call at a time: `begin`, then what the lane reports, then `finish`."""

    def __init__(self) -> None:
        # A lane may know how to find a tensor around an address: its place, and what keeps its memory.
        self.discover: Callable[[int], tuple[View, object] | None] = lambda address: None
        self.begin([])

    def begin(self, arguments: list[View | None], contents: list[bytes] | None = None) -> None:
        """Forget the last call. Argument N is a tensor where `arguments[N]` is one, holding `contents` in order."""
        self._starts: list[int] = []
        self._regions: list[Region] = []
        self._kept: list[Any] = []
        self._launches: list[wire.Launch] = []
        self._launch_count = 0
        self._arguments = arguments
        known = iter(contents or [])
        for number, view in enumerate(arguments):
            if view is not None:
                self._add(Region(f"arg{number}", view, next(known, None)))

    def launched(self, launch: wire.Launch) -> None:
        """A kernel starts."""
        self._launch_count += 1
        if len(self._launches) < KEPT_LAUNCHES:
            self._launches.append(launch)

    def uses(self, view: View, keep: object, label: str = "") -> None:
        """A kernel is given this tensor, as the parameter `label`. `keep` holds its memory until the call ends."""
        region = self._region_at(view.address)
        if region is None or view.address + view.nbytes > region.end:
            region = self._add(Region(f"tmp{len(self._regions)}", view, None))
            self._kept.append(keep)
        region.label = label or region.label

    def check(self, pointers: Pointers, itemsize: int, verb: str) -> list[tuple[Region, Indices]]:
        """The regions behind the addresses of active lanes, with byte offsets. Raises `OutOfBounds`."""
        return list(self._split(pointers, itemsize, verb)) if pointers.size else []

    def loaded(self, touched: list[tuple[Region, Indices]], itemsize: int) -> None:
        """One load instruction of one program read these bytes."""
        for region, offsets in touched:
            region.load(offsets, itemsize)

    def stored(self, touched: list[tuple[Region, Indices]], itemsize: int) -> None:
        """One store instruction of one program has just written these bytes."""
        for region, offsets in touched:
            region.store(offsets, itemsize)

    def region(self, address: int) -> Region | None:
        """The tensor whose memory holds this address."""
        return self._region_at(address)

    @property
    def memories(self) -> dict[str, int]:
        """Bytes of each tensor's memory that is known now."""
        return {region.name: region.view.nbytes for region in self._regions}

    def finish(self, returned: list[View]) -> tuple[list[wire.Launch], int, list[wire.Moved]]:
        """Launches kept, launches in all, and one `Moved` for each argument, temporary and returned tensor."""
        moved: list[wire.Moved] = []
        given_back: set[int] = set()
        for number, view in enumerate(returned):
            region = self._region_at(view.address)
            given_back.add(view.address)
            moved.append(
                region.moved(f"ret{number}", view) if region is not None else wire.Moved(tensor=f"ret{number}")
            )
        for region in self._regions:
            if region.name.startswith("arg") or region.view.address not in given_back:
                moved.append(region.moved(region.name, region.view))
        result = self._launches, self._launch_count, moved
        self.begin([])
        return result

    def _add(self, region: Region) -> Region:
        place = bisect.bisect(self._starts, region.view.address)
        self._starts.insert(place, region.view.address)
        self._regions.insert(place, region)
        return region

    def _region_at(self, address: int) -> Region | None:
        place = bisect.bisect(self._starts, address) - 1
        if place < 0 or address >= max(self._regions[place].end, self._starts[place] + 1):
            return None
        return self._regions[place]

    def _split(self, pointers: Pointers, itemsize: int, verb: str) -> Iterator[tuple[Region, Indices]]:
        low, high = int(pointers.min()), int(pointers.max()) + itemsize
        region = self._region_at(low)
        if region is not None and high <= region.end:  # nearly always: one tensor
            yield region, (pointers - np.uint64(region.view.address)).astype(np.int64)
            return
        left = pointers
        while left.size:
            first = int(left[0])
            region = self._region_at(first) or self._find(first)
            inside = np.zeros(left.shape, dtype=bool)
            if region is not None:
                start, end = np.uint64(region.view.address), np.uint64(max(region.end - itemsize + 1, 0))
                inside = (left >= start) & (left < end)
            if region is None or not inside[0]:
                raise OutOfBounds(self._describe(first, itemsize, verb))
            yield region, (left[inside] - np.uint64(region.view.address)).astype(np.int64)
            left = left[~inside]

    def _find(self, address: int) -> Region | None:
        found = self.discover(address)
        if found is None:
            return None
        self._kept.append(found[1])
        return self._add(Region(f"tmp{len(self._regions)}", found[0], None))

    def _describe(self, address: int, itemsize: int, verb: str) -> str:
        if not self._regions:
            return f"{verb} at an address where no tensor lies"
        near = min(self._regions, key=lambda r: min(abs(address - r.view.address), abs(address - r.end)))
        element = (address - near.view.address) // itemsize
        count = near.view.nbytes // itemsize
        what = f"`{near.label}`" if near.label else near.name
        return f"{verb} element {element:,} of {what}, whose memory has {count:,} elements (0 to {count - 1:,})"


class Region:
    """The memory of one tensor, and what happened to it."""

    def __init__(self, name: str, view: View, content: bytes | None) -> None:
        self.name = name
        self.label = ""
        self.view = view
        self.end = view.address + view.nbytes
        self.loaded_bytes = 0
        self.stored_bytes = 0
        elements = -(-view.nbytes // view.itemsize)
        self._loads = np.zeros(elements, dtype=np.uint32)
        self._stores = np.zeros(elements, dtype=np.uint32)
        self._memory = _memory(view.address, view.nbytes)
        self._shadow = np.frombuffer(bytearray(content or bytes(view.nbytes)), dtype=np.uint8)
        self._known = np.full(view.nbytes, content is not None)
        self._written = np.zeros(view.nbytes, dtype=bool)
        self._foreign_bytes = 0
        self._foreign_values: set[int] = set()

    def load(self, offsets: Indices, itemsize: int) -> None:
        """Count a load of the elements of `itemsize` bytes at these byte offsets."""
        self.loaded_bytes += offsets.size * itemsize
        self._loads[offsets // self.view.itemsize] += 1
        memory, shadow, known = (_pick(a, offsets, itemsize) for a in (self._memory, self._shadow, self._known))
        foreign = ~_all_bytes(known, itemsize) | (memory != shadow)
        if foreign.any():
            self._foreign_bytes += int(foreign.sum()) * itemsize
            if len(self._foreign_values) < 2:
                self._foreign_values |= set(np.unique(memory[foreign])[:2].tolist())

    def store(self, offsets: Indices, itemsize: int) -> None:
        """Count a store that has just happened, and remember what it left."""
        self.stored_bytes += offsets.size * itemsize
        self._stores[offsets // self.view.itemsize] += 1
        _put(self._shadow, offsets, itemsize, _pick(self._memory, offsets, itemsize))
        for flags in (self._known, self._written):
            _put(flags, offsets, itemsize, None)

    def foreign(self) -> tuple[NDArray[np.bool_], NDArray[Any]] | None:
        """Elements that are not known, and the bits of all elements; None when every element is known."""
        size = self.view.itemsize
        whole = len(self._memory) // size * size
        known = _whole_elements(self._known & (self._memory == self._shadow), size)
        return None if known.all() else (~known, self._memory[:whole].view(_UNSIGNED[size]).copy())

    def count(
        self,
        loads: NDArray[np.int64],
        stores: NDArray[np.int64],
        itemsize: int,
        foreign: tuple[NDArray[np.bool_], NDArray[Any]] | None,
    ) -> None:
        """A whole launch: how often each element was loaded and stored; `foreign` was asked for before it."""
        self.loaded_bytes += int(loads.sum()) * itemsize
        self.stored_bytes += int(stores.sum()) * itemsize
        loaded = _regroup(loads, itemsize, self.view.itemsize, len(self._loads))
        self._loads += loaded
        self._stores += _regroup(stores, itemsize, self.view.itemsize, len(self._stores))
        if foreign is not None:
            unknown = foreign[0] & (loaded[: len(foreign[0])] > 0)
            self._foreign_bytes += int(loaded[: len(unknown)][unknown].sum()) * self.view.itemsize
            self._foreign_values |= set(np.unique(foreign[1][unknown])[:2].tolist())
        if not stores.any():
            return
        written = np.repeat(stores > 0, itemsize)[: self.view.nbytes]
        part = slice(len(written))
        np.copyto(self._shadow[part], self._memory[part], where=written)
        self._known[part] |= written
        self._written[part] |= written

    def moved(self, name: str, view: View) -> wire.Moved:
        """The figures, with the coverage of `view`, which lies in this region."""
        start = view.address - self.view.address
        intact = (self._written & (self._memory == self._shadow))[start : start + view.nbytes]
        flags = view.of(_whole_elements(intact, view.itemsize))
        return wire.Moved(
            tensor=name,
            loaded_bytes=self.loaded_bytes,
            stored_bytes=self.stored_bytes,
            loaded_elements_max=int(self._loads.max(initial=0)),
            stored_elements_max=int(self._stores.max(initial=0)),
            covered=float(flags.mean()) if flags.size else 1.0,
            foreign_bytes=self._foreign_bytes if len(self._foreign_values) > 1 else 0,
            nbytes=self.view.nbytes,
        )


def pointer(region: Region, place: View, dtype: str) -> wire.Pointer:
    """Where in a known memory a tensor lies. `place` counts from its own storage, the pointer from the region."""
    offset = place.offset + (place.address - region.view.address) // place.itemsize
    return wire.Pointer(memory=region.name, dtype=dtype, shape=place.shape, strides=place.strides, offset=offset)


def _regroup(counts: NDArray[np.int64], itemsize: int, wanted: int, size: int) -> NDArray[np.uint32]:
    """Counts per element of `itemsize` bytes as counts per element of `wanted` bytes, `size` of them."""
    if itemsize != wanted:
        each = np.zeros(size * wanted, dtype=np.int64)
        spread = np.repeat(counts, itemsize)[: len(each)]
        each[: len(spread)] = spread
        counts = each.reshape(size, wanted).max(axis=1)
    out = np.zeros(size, dtype=np.uint32)
    out[: len(counts)] = counts[:size]
    return out


def _memory(address: int, nbytes: int) -> NDArray[np.uint8]:
    if nbytes == 0:
        return np.zeros(0, dtype=np.uint8)
    return np.ctypeslib.as_array((ctypes.c_uint8 * nbytes).from_address(address))


def _pick(data: NDArray[Any], offsets: Indices, itemsize: int) -> NDArray[Any]:
    """The elements at byte offsets, as unsigned integers of `itemsize` bytes."""
    whole = len(data) // itemsize * itemsize
    if not (offsets % itemsize).any():
        return data[:whole].view(_UNSIGNED[itemsize])[offsets // itemsize]
    each = data.view(np.uint8)[offsets[..., None] + np.arange(itemsize)]
    return np.ascontiguousarray(each).view(_UNSIGNED[itemsize])[..., 0]


def _put(data: NDArray[Any], offsets: Indices, itemsize: int, values: NDArray[Any] | None) -> None:
    """Write elements at byte offsets; None sets every byte to one."""
    wanted = np.frombuffer(b"\x01" * itemsize, dtype=_UNSIGNED[itemsize])[0] if values is None else values
    whole = len(data) // itemsize * itemsize
    if not (offsets % itemsize).any():
        data[:whole].view(_UNSIGNED[itemsize])[offsets // itemsize] = wanted
        return
    spread = np.broadcast_to(wanted, offsets.shape)[..., None]
    each = np.ascontiguousarray(spread).view(np.uint8)
    data.view(np.uint8)[offsets[..., None] + np.arange(itemsize)] = each


def _whole_elements(flags: NDArray[np.bool_], itemsize: int) -> NDArray[np.bool_]:
    """Whether all bytes of each element are flagged. Read as integers: ten times as fast as `all` along an axis."""
    whole = len(flags) // itemsize * itemsize
    return _all_bytes(flags[:whole].view(_UNSIGNED[itemsize]), itemsize)


def _all_bytes(flags: NDArray[Any], itemsize: int) -> NDArray[np.bool_]:
    """Whether all bytes of each element are one, from flags read as elements."""
    return np.asarray(flags == np.frombuffer(b"\x01" * itemsize, dtype=_UNSIGNED[itemsize])[0])
