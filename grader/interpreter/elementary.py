"""Elementwise functions of one or three operands: exponentials, roots, rounding, absolute value, fma, umulhi."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from grader.interpreter.arithmetic import add, elementwise, mul, negate, truediv
from grader.interpreter.casting import cast, operands
from grader.interpreter.dtypes import Array, DType, float32, float64, int32, int64, uint32, uint64
from grader.interpreter.errors import Rejected, Unsupported
from grader.interpreter.run import Run
from grader.interpreter.value import Value, align, broadcast_shape, undefined_in, value_of


def _of_one(name: str, function: Callable[[Array], Array], *types: DType) -> Callable[[Run, Any], Value]:
    """A function of floating point; the compiler offers it for `types` only."""
    allowed = types or (float32, float64)

    def apply(run: Run, x: Any) -> Value:
        value = value_of(x)
        if value.dtype not in allowed:
            expected = " or ".join(map(str, allowed))
            raise Rejected(f"tl.{name} takes {expected}, got {value.dtype}; cast with .to(tl.float32)")
        return run.make(value.dtype, value.shape, function(value.data), undefined=value.undefined)

    apply.__name__ = name
    return apply


def _reciprocal_root(x: Array) -> Array:
    return np.asarray(1 / np.sqrt(x))


_erf_of_one = np.frompyfunc(math.erf, 1, 1)


def _erf(x: Array) -> Array:
    return np.asarray(_erf_of_one(x.astype(np.float64))).astype(x.dtype)


exp = _of_one("exp", np.exp)
exp2 = _of_one("exp2", np.exp2)
log = _of_one("log", np.log)
log2 = _of_one("log2", np.log2)
sqrt = _of_one("sqrt", np.sqrt)
sqrt_rn = _of_one("sqrt_rn", np.sqrt, float32)
rsqrt = _of_one("rsqrt", _reciprocal_root)
sin = _of_one("sin", np.sin)
cos = _of_one("cos", np.cos)
floor = _of_one("floor", np.floor)
ceil = _of_one("ceil", np.ceil)
erf = _of_one("erf", _erf)

# Of libdevice, by the names of triton.language.extra.libdevice
tanh = _of_one("tanh", np.tanh)
tan = _of_one("tan", np.tan)
asin = _of_one("asin", np.arcsin)
acos = _of_one("acos", np.arccos)
atan = _of_one("atan", np.arctan)
sinh = _of_one("sinh", np.sinh)
cosh = _of_one("cosh", np.cosh)
log1p = _of_one("log1p", np.log1p)
expm1 = _of_one("expm1", np.expm1)
log10 = _of_one("log10", np.log10)
trunc = _of_one("trunc", np.trunc)
rint = _of_one("rint", np.rint)
nearbyint = rint


def fast_expf(run: Run, x: Any) -> Value:
    return exp(run, x)


def pow(run: Run, x: Any, y: Any) -> Value:
    a, b, dtype, shape = operands(run, x, y)
    if dtype not in (float32, float64):
        raise Rejected(f"libdevice.pow takes fp32 or fp64, got {dtype}")
    return elementwise(run, np.power, a, b, dtype, shape)


def isnan(run: Run, x: Any) -> Value:
    value = value_of(x)
    return run.make(int32, value.shape, np.isnan(value.data).astype(np.int32), undefined=value.undefined)


def isinf(run: Run, x: Any) -> Value:
    value = value_of(x)
    return run.make(int32, value.shape, np.isinf(value.data).astype(np.int32), undefined=value.undefined)


def abs(run: Run, x: Any) -> Value:
    value = value_of(x)
    if value.dtype.is_int_unsigned():
        return value
    return run.make(value.dtype, value.shape, np.abs(value.data), undefined=value.undefined)


def sigmoid(run: Run, x: Any) -> Value:
    return truediv(run, 1, add(run, 1, exp(run, negate(run, value_of(x)))))


def fdiv(run: Run, x: Any, y: Any, ieee_rounding: bool = False) -> Value:
    a, b = value_of(x), value_of(y)
    if not (a.dtype.is_floating() and b.dtype.is_floating()):
        raise Rejected("tl.fdiv needs floating point on both sides")
    return truediv(run, a, b)


def div_rn(run: Run, x: Any, y: Any) -> Value:
    a, b, dtype, shape = operands(run, x, y)
    if dtype is not float32:
        raise Rejected(f"tl.div_rn takes fp32, got {dtype}")
    return elementwise(run, np.divide, a, b, dtype, shape)


def fma(run: Run, x: Any, y: Any, z: Any) -> Value:
    """x · y + z, rounded once as on a GPU; in fp64 twice. Triton's interpreter rounds twice before 3.9."""
    a, b, _, _ = operands(run, value_of(x), value_of(y))
    a, c, dtype, shape = operands(run, a, value_of(z))
    b = cast(run, b, dtype)
    if dtype.kind != "f" or dtype.primitive_bitwidth == 64:
        return add(run, mul(run, a, b), c)
    shape = broadcast_shape(b.shape, shape)
    rank = len(shape)
    left, right, addend = (align(v.data, len(v.shape), rank).astype(np.float64) for v in (a, b, c))
    data = _rounded_once(left, right, addend, dtype.held)
    return run.make(dtype, shape, data, undefined=undefined_in(rank, a, b, c))


def _rounded_once(x: Array, y: Array, z: Array, held: Any) -> Array:
    """x · y + z in `held`, of numbers that fp32 holds: their product is exact in fp64. The sum is made odd in its
    last bit where it is not exact, so that rounding it again, to fp32 or less, decides as the exact sum would."""
    product = x * y
    total = np.asarray(product + z)
    added = total - product
    lost = (product - (total - added)) + (z - added)  # what rounding took away, exactly
    even = np.isfinite(total) & np.isfinite(lost) & (lost != 0) & (total.view(np.int64) & 1 == 0)
    total[even] = np.nextafter(total[even], np.copysign(np.inf, lost[even]))
    return total.astype(held)


def umulhi(run: Run, x: Any, y: Any) -> Value:
    """The upper half of the exact product."""
    a, b, dtype, shape = operands(run, value_of(x), value_of(y))
    if dtype not in (int32, uint32, int64, uint64):
        raise Rejected(f"tl.umulhi takes 32 and 64 bit integers, got {dtype}")
    high = _high_half_64 if dtype.primitive_bitwidth == 64 else _high_half_32
    return elementwise(run, high, a, b, dtype, shape)


def _high_half_32(x: Array, y: Array) -> Array:
    product = x.astype(np.uint32).astype(np.uint64) * y.astype(np.uint32).astype(np.uint64)
    return (product >> np.uint64(32)).astype(np.uint32).astype(x.dtype)


def _high_half_64(x: Array, y: Array) -> Array:
    half, low = np.uint64(32), np.uint64(0xFFFFFFFF)
    a, b = x.astype(np.uint64), y.astype(np.uint64)
    a1, a0, b1, b0 = a >> half, a & low, b >> half, b & low
    middle = a1 * b0 + ((a0 * b0) >> half)
    other = a0 * b1 + (middle & low)
    high: Array = (a1 * b1 + (middle >> half) + (other >> half)).astype(x.dtype)
    return high


def cdiv(run: Run, x: Any, div: Any) -> Any:
    """(x + div − 1) // div, rounding up for positive numbers."""
    from grader.interpreter.arithmetic import floordiv, sub

    if not isinstance(x, Value) and not isinstance(div, Value):
        return (x + div - 1) // div
    less_one = sub(run, div, 1) if isinstance(div, Value) else div - 1
    return floordiv(run, add(run, x, less_one), div)


def swizzle2d(run: Run, i: Any, j: Any, size_i: Any, size_j: Any, size_g: Any) -> tuple[Value, Value]:
    """Row-major tile indices → the order that walks groups of `size_g` rows column by column."""
    from grader.interpreter.arithmetic import floordiv, mod, sub
    from grader.interpreter.logic import minimum

    number = add(run, mul(run, i, size_j), j)
    per_group = mul(run, size_g, size_j)
    first = mul(run, floordiv(run, number, per_group), size_g)
    height = minimum(run, sub(run, size_i, first), size_g)
    within = mod(run, number, per_group)
    return add(run, first, mod(run, within, height)), floordiv(run, within, height)


def map_elementwise(run: Run, scalar_fn: Any, *args: Any, pack: int = 1) -> Any:
    """A device function applied lane by lane: here, to all lanes at once, which is the same while it is pure."""
    if pack != 1:
        raise Unsupported("tl.map_elementwise with pack other than 1")
    values = [value_of(x) for x in args]
    shape: tuple[int, ...] = ()
    for value in values:
        shape = broadcast_shape(shape, value.shape)
    return scalar_fn.inline(run, [cast(run, value, value.dtype) for value in values], {})
