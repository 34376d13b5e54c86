"""tl.load and tl.store."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from grader.interpreter.address import Reach, aligned_mask, check_bounds, reach_of
from grader.interpreter.blocks import BlockPointer
from grader.interpreter.casting import cast
from grader.interpreter.dtypes import Array, DType, decode, encode, int1
from grader.interpreter.errors import Fault, Rejected
from grader.interpreter.memory import View
from grader.interpreter.run import Run
from grader.interpreter.undefined import filler, report_use
from grader.interpreter.value import Shape, Value, align, broadcast_shape, is_number, scalar, value_of

LOAD_CACHES = ("", ".ca", ".cg", ".cv")
STORE_CACHES = ("", ".wb", ".cg", ".cs", ".wt")
EVICTIONS = ("", "evict_first", "evict_last")


def _check_hints(what: str, cache: Any, caches: tuple[str, ...], eviction: Any) -> None:
    """Hints change nothing here, but the compiler refuses those that it does not know."""
    if cache and cache not in caches:
        raise Rejected(f"tl.{what}: cache modifier {cache!r} is not supported, only {', '.join(caches[1:])}")
    if eviction and eviction not in EVICTIONS:
        raise Rejected(f"tl.{what}: eviction policy {eviction!r} is not supported, only {', '.join(EVICTIONS[1:])}")


def pointer_of(x: Any, what: str) -> tuple[Value, View]:
    if not isinstance(x, Value) or x.dtype.kind != "p" or x.memory is None:
        raise Rejected(f"tl.{what}: the first argument is {x!r}, not a pointer")
    return x, x.memory


def mask_of(run: Run, mask: Any, pointer: Value, what: str) -> Value | None:
    """The mask as a value aligned to the pointers, None when every lane is active."""
    if mask is None:
        return None
    value = scalar(bool(mask)) if is_number(mask) else value_of(mask)
    if value.dtype is not int1:
        raise Rejected(f"tl.{what}: the mask must be boolean, got {value.dtype}")
    if broadcast_shape(pointer.shape, value.shape) != pointer.shape:
        raise Rejected(f"tl.{what}: a mask of shape {list(value.shape)} for pointers of {list(pointer.shape)}")
    report_use(run, value, f"the mask of tl.{what}")
    return aligned_mask(value, len(pointer.shape))


def load(
    run: Run,
    pointer: Any,
    mask: Any = None,
    other: Any = None,
    boundary_check: Any = (),
    padding_option: Any = "",
    cache_modifier: Any = "",
    eviction_policy: Any = "",
    volatile: Any = False,
) -> Value:
    """The elements that `pointer` reaches; masked lanes hold `other`, or nothing defined."""
    _check_hints("load", cache_modifier, LOAD_CACHES, eviction_policy)
    if isinstance(pointer, BlockPointer):
        if mask is not None or other is not None:
            raise Rejected("tl.load: mask and other cannot be given for a block pointer")
        target, inside = pointer.pointers(run, boundary_check)
        return load(run, target, inside, pointer.padding(padding_option) if inside is not None else None)
    if padding_option or boundary_check:
        raise Rejected("tl.load: boundary_check and padding_option are for block pointers only")
    target, view = pointer_of(pointer, "load")
    if mask is None and other is not None:
        raise Rejected("tl.load: `other` cannot be provided without `mask`")
    active = mask_of(run, mask, target, "load")
    report_use(run, target, "the address of tl.load", None if active is None else active.data)
    reach = reach_of(target, active, view)
    starts = check_bounds(run, reach, target, active, "load")
    run.recorder.load(run, reach)
    element = target.dtype.element_ty
    data = _fetched(run, reach, starts, element)
    if active is None:
        return run.make(element, target.shape, data, exact=True)
    return _filled(run, data, reach, active, target.shape, element, other)


def _fetched(run: Run, reach: Reach, starts: Array, element: DType) -> Array:
    """The held values of the active columns; inactive rows hold whatever lies at the start of the storage."""
    storage = reach.view.storage
    shape = np.broadcast_shapes(reach.starts.shape, () if reach.chosen is None else reach.chosen.shape)
    if starts.size == 0:
        rows = list(shape)
        if reach.axis:
            rows[reach.axis] = reach.length
        return np.zeros(rows, element.held)
    where = reach.starts if reach.chosen is None else np.where(reach.chosen, reach.starts, starts[0])
    if reach.axis == 0:
        raw = storage.flat[where]
    else:
        raw = storage.rows(reach.length)[where.take(0, axis=reach.axis)]
        if reach.axis != where.ndim - 1:
            raw = np.ascontiguousarray(np.swapaxes(raw, reach.axis, -1))
    if storage.garbage is not None:
        _report_unwritten(run, raw, reach)
    if element is not storage.dtype:
        raw = raw.view(element.raw)
    return decode(raw, element)


def _filled(run: Run, data: Array, reach: Reach, mask: Value, shape: Shape, element: DType, other: Any) -> Value:
    """The tile with `other`, or undefined lanes, where the mask is off."""
    rank = len(shape)
    lost: Array | None = None
    if other is None:
        rest = filler(run, element)
        lost = ~mask.data
        run.unfilled.add(run.line)
    else:
        filled = cast(run, other, element)
        if broadcast_shape(shape, filled.shape) != shape:
            raise Rejected(f"tl.load: `other` of shape {list(filled.shape)} for pointers of {list(shape)}")
        rest = align(filled.data, len(filled.shape), rank)
        lost = None if filled.undefined is None else align(filled.undefined, len(filled.shape), rank) & ~mask.data
    if reach.axis and reach.length != shape[reach.axis - 1]:
        data = _widened(data, reach, shape[reach.axis - 1], rest)
        if rest.size == 1 and reach.chosen is None:
            return run.make(element, shape, data, undefined=lost, exact=True)
    return run.make(element, shape, np.where(mask.data, data, rest), undefined=lost, exact=True)


def _widened(data: Array, reach: Reach, width: int, rest: Array) -> Array:
    """The active columns put at their place in rows of the full width."""
    size = list(data.shape)
    size[reach.axis] = width
    tile = np.full(size, rest.reshape(-1)[0], data.dtype)
    place = [slice(None)] * data.ndim
    place[reach.axis] = slice(reach.low, reach.low + reach.length)
    tile[tuple(place)] = data
    return tile


def _report_unwritten(run: Run, raw: Array, reach: Reach) -> None:
    storage = reach.view.storage
    assert storage.garbage is not None
    bits = f"u{storage.itemsize}"
    unwritten = raw.view(bits) == storage.garbage.view(bits)[()]
    if reach.chosen is not None:
        unwritten = unwritten & reach.chosen
    if unwritten.any():
        first = np.unravel_index(int(unwritten.argmax()), unwritten.shape)
        start = np.broadcast_to(reach.starts, unwritten.shape)[first] if reach.axis else reach.starts[first]
        element = int(start) + (int(first[reach.axis]) if reach.axis else 0)
        run.note(
            "uninitialised-read",
            f"load of {reach.view.element(element)}, which nobody has written: the memory came from torch.empty "
            f"or the like",
            view=reach.view,
            element=element,
            row=int(first[0]),
            lane=tuple(int(i) for i in first[1:]),
        )


def store(
    run: Run,
    pointer: Any,
    value: Any,
    mask: Any = None,
    boundary_check: Any = (),
    cache_modifier: Any = "",
    eviction_policy: Any = "",
) -> None:
    """Writes `value`, cast to the element type, where the mask is on. Programs write in their order."""
    _check_hints("store", cache_modifier, STORE_CACHES, eviction_policy)
    if isinstance(pointer, BlockPointer):
        if mask is not None:
            raise Rejected("tl.store: a mask cannot be given for a block pointer")
        pointer.check_value(value_of(value))
        target, inside = pointer.pointers(run, boundary_check)
        store(run, target, value, inside)
        return
    if boundary_check:
        raise Rejected("tl.store: boundary_check is for block pointers only")
    target, view = pointer_of(pointer, "store")
    element = target.dtype.element_ty
    written = cast(run, value, element)
    if broadcast_shape(target.shape, written.shape) != target.shape:
        raise Rejected(f"tl.store: a value of shape {list(written.shape)} for pointers of {list(target.shape)}")
    active = mask_of(run, mask, target, "store")
    lanes = None if active is None else active.data
    report_use(run, target, "the address of tl.store", lanes)
    if written.undefined is not None:
        _report_stored(run, written, target, lanes)
    reach = reach_of(target, active, view)
    starts = check_bounds(run, reach, target, active, "store")
    run.dirty = True
    if starts.size:
        raw = encode(align(written.data, len(written.shape), len(target.shape)), element)
        _write(run, reach, raw.view(view.dtype.raw) if element is not view.dtype else raw, target.shape)


def _report_stored(run: Run, written: Value, pointer: Value, lanes: Array | None) -> None:
    assert written.undefined is not None
    tile = Value(
        written.dtype,
        pointer.shape,
        written.data,
        undefined=align(written.undefined, len(written.shape), len(pointer.shape)),
    )
    report_use(run, tile, "tl.store", lanes)


def _write(run: Run, reach: Reach, raw: Array, shape: Shape) -> None:
    """Put the active rows into memory; with several programs on one element, the last one's value stays."""
    storage = reach.view.storage
    if not storage.flat.flags.writeable:
        raise Fault(f"store to {reach.view.name}, which is read-only")
    rows = max(reach.rows, raw.shape[0])
    if reach.axis:
        if raw.shape[reach.axis] != 1:
            raw = raw[(slice(None),) * reach.axis + (slice(reach.low, reach.low + reach.length),)]
        raw = np.swapaxes(raw, reach.axis, -1)
        starts = np.swapaxes(reach.starts, reach.axis, -1)
        chosen = None if reach.chosen is None else np.swapaxes(reach.chosen, reach.axis, -1)
        outer = [rows, *shape]
        outer[reach.axis], outer[-1] = outer[-1], reach.length
        values = np.broadcast_to(raw, outer)
        where = np.broadcast_to(starts, (*outer[:-1], 1))[..., 0]
        if chosen is not None:
            on = np.broadcast_to(chosen, (*outer[:-1], 1))[..., 0]
            where, values = where[on], values[on]
        storage.rows(reach.length)[where] = values
    else:
        outer = [rows, *shape]
        values = np.broadcast_to(raw, outer)
        where = np.broadcast_to(reach.starts, outer)
        if reach.chosen is not None:
            on = np.broadcast_to(reach.chosen, outer)
            where, values = where[on], values[on]
        storage.flat[where] = values
    if rows > reach.rows:  # one address for all programs, but each has a value of its own
        reach = replace(reach, starts=np.broadcast_to(reach.starts, (rows, *reach.starts.shape[1:])))
    run.recorder.store(run, reach, values)
