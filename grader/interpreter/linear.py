"""tl.dot and tl.dot_scaled.

Products are summed in fp32 (integers in int32, fp64 in fp64) by one matrix product per program, with the same
operand layouts that a single program would have, so that a batch gives the bits of its programs run alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from grader.interpreter.casting import cast
from grader.interpreter.dtypes import (
    Array,
    DType,
    bfloat16,
    float8e4nv,
    float8e5,
    float16,
    float32,
    float64,
    int8,
    int32,
    round_tf32,
    uint8,
)
from grader.interpreter.errors import Rejected
from grader.interpreter.run import Run
from grader.interpreter.undefined import report_use, spoil
from grader.interpreter.value import Value

_OPERANDS = (int8, uint8, float16, bfloat16, float32, float64)


def dot(
    run: Run,
    input: Value,
    other: Value,
    acc: Value | None = None,
    input_precision: str | None = None,
    allow_tf32: Any = None,
    max_num_imprecise_acc: Any = None,
    out_dtype: DType = float32,
) -> Value:
    """input (…, M, K) · other (…, K, N) + acc (…, M, N)."""
    if input_precision is not None and allow_tf32 is not None:
        raise Rejected("tl.dot: only one of input_precision and allow_tf32 can be specified")
    _check_operands(input, other)
    if run.options.dot_minimum:
        _check_minimum(input)
    result = _result_type(input.dtype, out_dtype)
    shape = input.shape[:-1] + other.shape[-1:]
    if acc is not None and (acc.shape != shape or acc.dtype is not result):
        raise Rejected(f"tl.dot: the accumulator is {acc}, the product {result}{list(shape)}")
    a, b = input.full, other.full
    exact = float32 if result is float16 else result
    if a.dtype != exact.held:
        a, b = a.astype(exact.held), b.astype(exact.held)
    if run.options.tf32 and input.dtype is float32 and input_precision != "ieee" and allow_tf32 is not False:
        a, b = round_tf32(a), round_tf32(b)
    product = np.matmul(a, b)
    if product.dtype != result.held:
        product = product.astype(result.held)
    if acc is not None:
        wide = acc.data.shape[0] <= product.shape[0]
        product = np.add(product, acc.data, out=product if wide else None)
    lost = _lost(run, input, other, acc)
    return run.make(result, shape, spoil(run, product, result, lost))


def _check_operands(a: Value, b: Value) -> None:
    if not isinstance(a, Value) or not isinstance(b, Value) or len(a.shape) < 2 or len(a.shape) != len(b.shape):
        raise Rejected(f"tl.dot takes two tiles of equal rank, 2 or more, got {a!r} and {b!r}")
    if not (a.dtype.is_fp8() and b.dtype.is_fp8()):
        if a.dtype is not b.dtype:
            raise Rejected(f"tl.dot: both operands must have the same dtype, got {a.dtype} and {b.dtype}")
        if a.dtype not in _OPERANDS:
            raise Rejected(f"tl.dot: unsupported operand type {a.dtype}")
    if a.shape[-1] != b.shape[-2] or a.shape[:-2] != b.shape[:-2]:
        raise Rejected(f"tl.dot: shapes {list(a.shape)} and {list(b.shape)} do not match")


def _check_minimum(a: Value) -> None:
    least = 32 if a.dtype.primitive_bitwidth == 8 else 16
    if a.shape[-1] < least:
        raise Rejected(f"tl.dot: K must be at least {least} for {a.dtype}, got {a.shape[-1]}")


def _result_type(operand: DType, out: DType) -> DType:
    if operand.is_int():
        if operand is not int8:
            raise Rejected(f"tl.dot: of the integers only int8 is supported, got {operand}")
        return int32
    if out is bfloat16:
        raise Rejected("tl.dot: out_dtype=tl.bfloat16 is unsupported; use tl.float32 and cast")
    if operand in (float32, bfloat16):
        return float32
    return float64 if operand is float64 else out


def _lost(run: Run, a: Value, b: Value, acc: Value | None) -> Array | None:
    """Where the product depends on undefined lanes."""
    lost: Array | None = None
    rows, columns = report_use(run, a, "tl.dot"), report_use(run, b, "tl.dot")
    if rows is not None:
        lost = np.asarray(_all(rows, a).any(-1))[..., :, None]
    if columns is not None:
        mine = np.asarray(_all(columns, b).any(-2))[..., None, :]
        lost = mine if lost is None else lost | mine
    if acc is not None and acc.undefined is not None:
        lost = acc.undefined if lost is None else lost | acc.undefined
    return lost


def _all(lanes: Array, value: Value) -> Array:
    return np.broadcast_to(lanes, (lanes.shape[0], *value.shape))


# Microscaling formats: blocks of 32 elements along K share a power of two


_FORMATS = {"e5m2": float8e5, "e4m3": float8e4nv, "bf16": bfloat16, "fp16": float16}
_E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6], np.float32)
_E2M1 = np.concatenate([_E2M1, -_E2M1])


def dot_scaled(
    run: Run,
    lhs: Value,
    lhs_scale: Value | None,
    lhs_format: str,
    rhs: Value,
    rhs_scale: Value | None,
    rhs_format: str,
    acc: Value | None = None,
    fast_math: Any = False,
    lhs_k_pack: Any = True,
    rhs_k_pack: Any = True,
    out_dtype: DType = float32,
) -> Value:
    """lhs (M, K) · rhs (K, N) + acc, each element times its block's scale: 32 along K, 16 for fp8 scales.

    Scales are (M, K / block) and (N, K / block). e2m1 operands pack two elements a byte, along K or, without
    k_pack, along the other axis.
    """
    if out_dtype is not float32:
        raise Rejected("tl.dot_scaled: out_dtype must be tl.float32")
    if (not lhs_k_pack and lhs_format != "e2m1") or (not rhs_k_pack and rhs_format != "e2m1"):
        raise Rejected("tl.dot_scaled: only e2m1 operands can be packed along another axis than K")
    a = _unpack(run, lhs, lhs_format, -1 if lhs_k_pack else -2)
    b = _unpack(run, rhs, rhs_format, -2 if rhs_k_pack else -1)
    if a.shape[-1] != b.shape[-2]:
        raise Rejected(f"tl.dot_scaled: the reduction axes differ, {a.shape[-1]} and {b.shape[-2]}")
    a = _scaled(a, lhs_scale, "lhs_scale")
    b = np.swapaxes(_scaled(np.swapaxes(b, -1, -2), rhs_scale, "rhs_scale"), -1, -2)
    product = np.matmul(a, b)
    if acc is not None:
        product = product + acc.data
    return run.make(float32, product.shape[1:], product)


def _unpack(run: Run, operand: Value, name: str, packed_axis: int) -> Array:
    report_use(run, operand, "tl.dot_scaled")
    if name == "e2m1":
        if operand.dtype is not uint8:
            raise Rejected(f"tl.dot_scaled: e2m1 operands are packed in uint8, got {operand.dtype}")
        bits = np.moveaxis(operand.full, packed_axis, -1)
        pair = np.stack([_E2M1[bits & 0xF], _E2M1[bits >> 4]], -1)
        return np.moveaxis(pair.reshape((*bits.shape[:-1], -1)), -1, packed_axis)
    if name not in _FORMATS:
        raise Rejected(f"tl.dot_scaled: unknown format {name!r}")
    dtype = _FORMATS[name]
    value = operand if operand.dtype is dtype else cast(run, operand, dtype, bitcast=True)
    return value.full.astype(np.float32)


def _scaled(operand: Array, scale: Value | None, name: str) -> Array:
    """operand (1 or B, rows, K) times its scales (1 or B, rows, K / block)."""
    if scale is None:
        return operand
    block = 16 if scale.dtype is float8e4nv else 32
    wanted = (*operand.shape[1:-1], operand.shape[-1] // block)
    if scale.shape != wanted:
        raise Rejected(f"tl.dot_scaled: {name} must have shape {list(wanted)}, got {list(scale.shape)}")
    if scale.dtype is float8e4nv:
        factor = scale.full
    elif scale.dtype is uint8:  # e8m0: a biased exponent; 255 is NaN
        bits = scale.full.astype(np.int32)
        factor = np.where(bits == 255, np.float32(np.nan), np.ldexp(np.float32(1), bits - 127))
    else:
        raise Rejected(f"tl.dot_scaled: {name} must be uint8 exponents or fp8e4nv, got {scale.dtype}")
    return np.asarray(operand * np.repeat(factor.astype(np.float32), block, axis=-1), np.float32)
