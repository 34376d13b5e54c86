"""Conversions between element types, and which type an operation on two types has.

The rules are those of Triton's front end: a Python number does not take part in promotion when its kind is not
above the tensor's; `/`, `//` and `%` on half precision compute in fp32.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from grader.interpreter.dtypes import (
    Array,
    DType,
    PointerType,
    bfloat16,
    float16,
    float32,
    float64,
    int1,
    int64,
)
from grader.interpreter.errors import Rejected, Unsupported
from grader.interpreter.memory import tensor_at
from grader.interpreter.run import Run
from grader.interpreter.value import (
    Shape,
    Value,
    broadcast_shape,
    is_number,
    number_type,
    scalar,
    value_of,
)

_KIND = {"b": 0, "u": 1, "i": 1, "f": 2}


def promote_integers(a: DType, b: DType) -> DType:
    """C's usual arithmetic conversions."""
    unsigned_a, unsigned_b = a.kind != "i", b.kind != "i"
    if unsigned_a == unsigned_b:
        return a if a.primitive_bitwidth > b.primitive_bitwidth else b
    unsigned, signed = (a, b) if unsigned_a else (b, a)
    return unsigned if unsigned.primitive_bitwidth >= signed.primitive_bitwidth else signed


def promote(a: DType, a_number: bool, b: DType, b_number: bool, division: bool) -> DType:
    """The type in which an operation on `a` and `b` is computed. `…_number`: that operand is a Python number."""
    if a_number != b_number:
        number, tensor = (a, b) if a_number else (b, a)
        if _KIND[number.kind] <= _KIND[tensor.kind]:
            return float32 if division and tensor in (float16, bfloat16) else tensor
    pair = (a, b)
    for wide in (float64, float32):
        if wide in pair:
            return wide
    if float16 in pair:
        return float32 if division else float16
    if bfloat16 in pair:
        return bfloat16 if a is b and not division else float32
    if a.is_fp8() and b.is_fp8():
        return a if a is b else float16
    if not (a.is_int() and b.is_int()):
        raise Rejected(f"unexpected types {a} and {b}")
    if division and (a.kind != "i") != (b.kind != "i"):
        raise Rejected(f"cannot use /, // or % with {a} and {b}: their signedness differs; cast one of them")
    return promote_integers(a, b)


def operands(run: Run, a: Any, b: Any, *, division: bool = False) -> tuple[Value, Value, DType, Shape]:
    """Both operands in the type of the operation, that type, and the shape of the result."""
    if type(a) is Value and type(b) is Value and a.dtype is b.dtype and a.dtype.primitive_bitwidth >= 32:
        return a, b, a.dtype, a.shape if a.shape == b.shape else broadcast_shape(a.shape, b.shape)
    a_number, b_number = is_number(a), is_number(b)
    type_a = number_type(a) if a_number else value_of(a).dtype
    type_b = number_type(b) if b_number else value_of(b).dtype
    if type_a.kind == "p" or type_b.kind == "p":
        first, second = value_of(a), value_of(b)
        return first, second, type_a, broadcast_shape(first.shape, second.shape)
    dtype = promote(type_a, a_number, type_b, b_number, division)
    for number, given in ((a, a_number), (b, b_number)):
        if given and dtype.is_int() and not dtype.low <= number <= dtype.high:
            raise Rejected(f"the number {number} is out of range for {dtype}")
    first = scalar(a, dtype) if a_number else cast(run, a, dtype)
    second = scalar(b, dtype) if b_number else cast(run, b, dtype)
    return first, second, dtype, broadcast_shape(first.shape, second.shape)


def cast(run: Run, x: Any, dtype: DType, fp_downcast_rounding: str | None = None, bitcast: bool = False) -> Value:
    """`x` converted to `dtype`, or with `bitcast` its bits read as `dtype`."""
    value = value_of(x)
    source = value.dtype
    if source is dtype or source == dtype:
        return value
    if source.kind == "p":
        return _cast_pointer(value, dtype)
    if isinstance(dtype, PointerType):
        return _to_pointer(run, value, dtype)
    if bitcast:
        return _bitcast(value, dtype)
    if fp_downcast_rounding is not None:
        return _downcast(run, value, dtype, fp_downcast_rounding)
    if value.lazy and dtype is int64 and source.kind in "iu":
        from grader.interpreter.arithmetic import checked_sum

        summed = checked_sum(run, value)
        parts = (part.astype(np.int64) for part in summed.parts)
        return Value(int64, value.shape, *parts, interval=summed.interval, undefined=value.undefined)
    return Value(dtype, value.shape, _convert(value.data, source, dtype), undefined=value.undefined)


def _convert(data: Array, source: DType, dtype: DType) -> Array:
    if dtype is int1:
        return np.not_equal(data, 0)
    if dtype.is_fp8() and source is not float32:
        data = data.astype(np.float32)  # one rounding from fp16 and bf16, as fp32 holds both
    with np.errstate(all="ignore"):
        held: Array = data.astype(dtype.held)
    exact = source.round is not None and source.mantissa <= dtype.mantissa and dtype.primitive_bitwidth >= 16
    return held if dtype.round is None or exact else dtype.round(held)


def _cast_pointer(value: Value, dtype: DType) -> Value:
    if value.dtype.kind == "p" and dtype.kind == "p":
        if value.dtype.element_ty.itemsize != dtype.element_ty.itemsize:
            raise Unsupported(f"a cast from {value.dtype} to {dtype}: elements of different size")
        return Value(dtype, value.shape, *value.parts, memory=value.memory, undefined=value.undefined)
    if value.dtype.kind == "p" and dtype is int64 and value.memory is not None:
        storage = value.memory.storage
        address = value.data * storage.itemsize + storage.key[0]
        return Value(int64, value.shape, address, undefined=value.undefined)
    raise Unsupported(f"a cast from {value.dtype} to {dtype}")


def _to_pointer(run: Run, value: Value, dtype: PointerType) -> Value:
    """Addresses as pointers. All of them must lie in one tensor."""
    if not value.dtype.is_int():
        raise Rejected(f"cannot cast {value.dtype} to {dtype}")
    low, high = (int(x) for x in (value.data.min(), value.data.max()))
    view = tensor_at(low, high, dtype.element, run.recorder.storages)
    if view is None:
        raise Unsupported(f"a cast to {dtype} of addresses that do not lie in one tensor of {dtype.element}")
    index = (value.data.astype(np.int64) - view.storage.key[0]) // view.storage.itemsize
    return Value(dtype, value.shape, index, memory=view, undefined=value.undefined)


def _downcast(run: Run, value: Value, dtype: DType, rounding: str) -> Value:
    narrowing = value.dtype.is_floating() and dtype.is_floating()
    if not narrowing or dtype.primitive_bitwidth >= value.dtype.primitive_bitwidth:
        raise Rejected(f"fp_downcast_rounding only applies to truncating conversions, not {value.dtype} to {dtype}")
    if rounding == "rtne":
        return cast(run, value, dtype)
    if rounding != "rtz":
        raise Rejected(f"invalid rounding mode {rounding!r}: rtne or rtz")
    if dtype is bfloat16 and value.dtype is float32:
        data = (value.data.view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)
        return Value(dtype, value.shape, data, undefined=value.undefined)
    if dtype is float16:
        near = value.data.astype(np.float16)
        past = np.abs(near.astype(value.data.dtype)) > np.abs(value.data)
        data = np.where(past, np.nextafter(near, np.float16(0)), near)
        return Value(dtype, value.shape, data, undefined=value.undefined)
    raise Unsupported(f"rounding mode rtz from {value.dtype} to {dtype}")


def _bitcast(value: Value, dtype: DType) -> Value:
    from grader.interpreter.dtypes import decode, encode

    if value.dtype.primitive_bitwidth != dtype.primitive_bitwidth:
        raise Rejected(f"cannot bitcast {value.dtype} to {dtype}: their sizes differ")
    raw = np.ascontiguousarray(encode(value.data, value.dtype))
    return Value(dtype, value.shape, decode(raw.view(dtype.raw), dtype), undefined=value.undefined)
