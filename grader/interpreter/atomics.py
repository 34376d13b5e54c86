"""Atomic updates. Programs, and the lanes of a tile, take their turns in order.

Who updates an element twice in one operation sees its own first update; so results that the kernel uses are right
for tickets, locks and histograms alike.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from grader.interpreter.access import mask_of, pointer_of
from grader.interpreter.address import Reach, check_bounds
from grader.interpreter.casting import cast
from grader.interpreter.dtypes import Array, DType, bfloat16, decode, encode, float16, float32, float64
from grader.interpreter.errors import Fault, Rejected
from grader.interpreter.run import Run
from grader.interpreter.undefined import report_use
from grader.interpreter.value import Value, align, broadcast_shape, value_of

_OPERATIONS: dict[str, np.ufunc | None] = {
    "add": np.add,
    "max": np.maximum,
    "min": np.minimum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "xchg": None,
}


def _check_type(operation: str, element: DType) -> None:
    narrow = element.primitive_bitwidth < 16 or (element.is_int() and element.primitive_bitwidth == 16)
    half = element in (float16, bfloat16) and operation != "add"
    bits_of_float = element.is_floating() and operation in ("and", "or", "xor")
    if narrow or half or bits_of_float:
        raise Rejected(f"tl.atomic_{operation} does not support {element}")


def _lanes(run: Run, pointer: Value, mask: Value | None, *operands: Value) -> tuple[list[Array], Array | None]:
    """Index and operands, one entry a program and lane, flat; and which of them are active."""
    rank = len(pointer.shape)
    shape = (run.programs.count, *pointer.shape)

    def flat(value: Value) -> Array:
        return np.broadcast_to(align(value.data, len(value.shape), rank), shape).reshape(-1)

    return [flat(pointer), *map(flat, operands)], None if mask is None else flat(mask)


def _prepare(run: Run, pointer: Value, mask: Value | None, value: Value, what: str) -> None:
    if broadcast_shape(pointer.shape, value.shape) != pointer.shape:
        raise Rejected(f"{what}: a value of shape {list(value.shape)} for pointers of {list(pointer.shape)}")
    active = None if mask is None else mask.data
    report_use(run, pointer, f"the address of {what}", active)
    report_use(run, value, what, active)
    run.dirty = True
    if run.synchronised is None:
        run.synchronised = np.zeros(np.prod(run.grid), bool)
    run.synchronised[run.programs.rows] = True


def rmw(run: Run, operation: str, pointer: Any, val: Any, mask: Any = None) -> Value | None:
    """Read, modify, write; returns what was there before, None when the kernel does not look at it."""
    target, view = pointer_of(pointer, f"atomic_{operation}")
    element = target.dtype.element_ty
    _check_type(operation, element)
    value = cast(run, val, element)
    active = mask_of(run, mask, target, f"atomic_{operation}")
    _prepare(run, target, active, value, f"tl.atomic_{operation}")
    (index, given), on = _lanes(run, target, active, value)
    if on is not None:
        index, given = index[on], given[on]
    check_bounds(
        run, Reach(view, target.data, 1, None if active is None else active.data), target, active, "atomic"
    )
    before = _update(view.storage.flat, index, given, operation, element, unused=run.result_unused)
    run.recorder.atomic(run, view, index)
    if before is None:
        return None
    if on is not None:
        spread = np.zeros(on.size, element.held)
        spread[on] = before
        before = spread
    return run.make(element, target.shape, before.reshape(run.programs.count, *target.shape), exact=True)


def _update(
    flat: Array, index: Array, given: Array, operation: str, element: DType, *, unused: bool
) -> Array | None:
    if not flat.flags.writeable:
        raise Fault("atomic update of a read-only tensor")
    ufunc = _OPERATIONS[operation]
    rounded = element.round is not None
    if (unused and ufunc is not None and not rounded and element in (float32, float64)) or (
        unused and element.is_int()
    ):
        if ufunc is None:
            flat[index] = given
        else:
            ufunc.at(flat, index, given)
        return None
    if index.size < 2 or np.unique(index).size == index.size:
        before = decode(flat[index], element)
        after = given if ufunc is None else ufunc(before, given)
        flat[index] = encode(element.round(after) if element.round else after, element)
        return before
    return _one_by_one(flat, index, given, ufunc, element)


def _one_by_one(flat: Array, index: Array, given: Array, ufunc: Callable[..., Any] | None, element: DType) -> Array:
    before = np.empty(index.size, element.held)
    for k in range(index.size):
        place = slice(index[k], index[k] + 1)
        before[k : k + 1] = decode(flat[place], element)
        after = given[k : k + 1] if ufunc is None else ufunc(before[k : k + 1], given[k : k + 1])
        flat[place] = encode(element.round(after) if element.round else after, element)
    return before


def atomic(operation: str) -> Callable[..., Value | None]:
    def apply(
        run: Run, pointer: Any, val: Any, mask: Any = None, sem: Any = None, scope: Any = None
    ) -> Value | None:
        _check_order(sem, scope)
        return rmw(run, operation, pointer, val, mask)

    apply.__name__ = f"atomic_{operation}"
    return apply


def _check_order(sem: Any, scope: Any) -> None:
    if sem not in (None, "acquire", "release", "acq_rel", "relaxed"):
        raise Rejected(f"memory semantic {sem!r} is not supported")
    if scope not in (None, "gpu", "cta", "sys"):
        raise Rejected(f"scope {scope!r} is not supported")


def atomic_cas(run: Run, pointer: Any, cmp: Any, val: Any, sem: Any = None, scope: Any = None) -> Value:
    """Write `val` where memory holds `cmp`; returns what was there before."""
    _check_order(sem, scope)
    target, view = pointer_of(pointer, "atomic_cas")
    element = target.dtype.element_ty
    if element.primitive_bitwidth not in (16, 32, 64):
        raise Rejected(f"tl.atomic_cas does not support {element}")
    expected, value = cast(run, value_of(cmp), element), cast(run, value_of(val), element)
    _prepare(run, target, None, value, "tl.atomic_cas")
    (index, wanted, given), _ = _lanes(run, target, None, expected, value)
    check_bounds(run, Reach(view, target.data, 1, None), target, None, "atomic")
    flat = view.storage.flat
    raw_wanted, raw_given = encode(wanted, element), encode(given, element)
    before = np.empty(index.size, flat.dtype)
    for k in range(index.size):
        before[k] = flat[index[k]]
        if before[k] == raw_wanted[k]:
            flat[index[k]] = raw_given[k]
    run.recorder.atomic(run, view, index)
    return run.make(element, target.shape, decode(before, element).reshape(run.programs.count, *target.shape))
