"""Element types: how a value of each type is held while computing, how it lies in memory, how it rounds.

bf16 and the fp8 types are held in fp32 and rounded after every operation; all other types are held as NumPy's own.
Rounding is to nearest, ties to even. fp8 saturates at the largest finite value, as the conversion instructions of
the hardware do; a NaN stays a NaN.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


class DType:
    """An element type of the kernel language. `kind`: b(ool), u(nsigned), i(nteger), f(loat), p(ointer), v(oid)."""

    def __init__(self, name: str, kind: str, bits: int, held: Any, *, raw: Any = None, mantissa: int = 0) -> None:
        self.name = name
        self.kind = kind
        self.primitive_bitwidth = bits
        self.held = np.dtype(held)
        self.raw = np.dtype(held if raw is None else raw)
        self.mantissa = mantissa
        self.round: Callable[[Array], Array] | None = None
        self.low, self.high = _integer_range(kind, bits)

    # The part of Triton's own dtype interface that kernels use.

    @property
    def itemsize(self) -> int:
        return max(1, self.primitive_bitwidth // 8)

    @property
    def int_bitwidth(self) -> int:
        return self.primitive_bitwidth

    @property
    def fp_mantissa_width(self) -> int:
        return self.mantissa

    @property
    def scalar(self) -> DType:
        return self

    @property
    def element_ty(self) -> DType:
        raise AttributeError(f"{self} is not a pointer type")

    def is_floating(self) -> bool:
        return self.kind == "f"

    def is_standard_floating(self) -> bool:
        return self.kind == "f" and self.primitive_bitwidth > 8

    def is_int(self) -> bool:
        return self.kind in "iub"

    def is_int_signed(self) -> bool:
        return self.kind == "i"

    def is_int_unsigned(self) -> bool:
        return self.kind in "ub"

    def is_bool(self) -> bool:
        return self.kind == "b"

    def is_ptr(self) -> bool:
        return self.kind == "p"

    def is_block(self) -> bool:
        return False

    def is_fp8(self) -> bool:
        return self.kind == "f" and self.primitive_bitwidth == 8

    def __getattr__(self, name: str) -> Any:
        if name.startswith("is_"):  # is_fp16, is_bf16, is_int1, is_fp8e5, …
            return lambda: self.name == name[3:]
        raise AttributeError(f"{self.name} has no attribute {name!r}")

    def __repr__(self) -> str:
        return self.name


def _integer_range(kind: str, bits: int) -> tuple[int, int]:
    if kind == "i":
        return -(1 << (bits - 1)), (1 << (bits - 1)) - 1
    return 0, (1 << bits) - 1 if kind in "ub" else 0


class PointerType(DType):
    """A pointer to `element`. Its held value is an element index into one tensor's storage, not an address."""

    def __init__(self, element: DType) -> None:
        super().__init__(f"pointer<{element}>", "p", 64, np.int64)
        self.element = element

    @property
    def element_ty(self) -> DType:
        return self.element

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PointerType) and other.element is self.element

    def __hash__(self) -> int:
        return hash(self.name)


int1 = DType("int1", "b", 1, np.bool_)
int8 = DType("int8", "i", 8, np.int8)
int16 = DType("int16", "i", 16, np.int16)
int32 = DType("int32", "i", 32, np.int32)
int64 = DType("int64", "i", 64, np.int64)
uint8 = DType("uint8", "u", 8, np.uint8)
uint16 = DType("uint16", "u", 16, np.uint16)
uint32 = DType("uint32", "u", 32, np.uint32)
uint64 = DType("uint64", "u", 64, np.uint64)
float16 = DType("fp16", "f", 16, np.float16, mantissa=10)
bfloat16 = DType("bf16", "f", 16, np.float32, raw=np.uint16, mantissa=7)
float32 = DType("fp32", "f", 32, np.float32, mantissa=23)
float64 = DType("fp64", "f", 64, np.float64, mantissa=52)
float8e4nv = DType("fp8e4nv", "f", 8, np.float32, raw=np.uint8, mantissa=3)
float8e5 = DType("fp8e5", "f", 8, np.float32, raw=np.uint8, mantissa=2)
void = DType("void", "v", 0, np.bool_)

NAMED = {
    dtype.name: dtype
    for dtype in (
        *(int1, int8, int16, int32, int64, uint8, uint16, uint32, uint64),
        *(float16, bfloat16, float32, float64, float8e4nv, float8e5),
    )
}


# bf16: the upper half of an fp32


def round_bf16(x: Array) -> Array:
    """fp32 → the nearest bf16, still held in fp32."""
    bits = np.ascontiguousarray(x, np.float32).view(np.uint32)
    nearest = ((bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) & np.uint32(0xFFFF0000)).view(
        np.float32
    )
    lost = np.isnan(x)  # the addition may carry a NaN's mantissa over into zero
    return np.where(lost, np.float32(np.nan), nearest) if lost.any() else nearest


def decode_bf16(raw: Array) -> Array:
    return (raw.astype(np.uint32) << np.uint32(16)).view(np.float32)


def encode_bf16(x: Array) -> Array:
    return (np.ascontiguousarray(x, np.float32).view(np.uint32) >> np.uint32(16)).astype(np.uint16)


# tf32: 10 bits of mantissa, what tensor cores read of an fp32 operand


def round_tf32(x: Array) -> Array:
    """fp32 → the nearest tf32, still held in fp32."""
    bits = np.ascontiguousarray(x, np.float32).view(np.uint32)
    kept = (bits + np.uint32(0xFFF) + ((bits >> np.uint32(13)) & np.uint32(1))) & np.uint32(0xFFFFE000)
    return np.where(np.isfinite(x), kept.view(np.float32), x)


# fp8: 256 values, so a table decodes and a binary search encodes


class _Fp8:
    """Conversions of one fp8 type through its table of non-negative values, indexed by code."""

    def __init__(self, exponent_bits: int, mantissa_bits: int, finite_codes: int) -> None:
        codes = np.arange(128)
        exponent, fraction = codes >> mantissa_bits, (codes & ((1 << mantissa_bits) - 1)) / (1 << mantissa_bits)
        bias = (1 << (exponent_bits - 1)) - 1
        normal = np.ldexp(1.0 + fraction, exponent - bias)
        positive = np.where(exponent == 0, np.ldexp(fraction, 1 - bias), normal).astype(np.float32)
        positive[finite_codes:] = np.nan
        if exponent_bits == 5:
            positive[finite_codes] = np.inf
        self.finite = positive[:finite_codes]
        self.middles = (self.finite[1:] + self.finite[:-1]) / 2
        self.table = np.concatenate([positive, -positive])

    def decode(self, raw: Array) -> Array:
        return np.asarray(self.table[raw])

    def encode(self, x: Array) -> Array:
        size = np.abs(x)
        code = np.searchsorted(self.middles, size)
        tie = (code < len(self.middles)) & (self.middles[np.minimum(code, len(self.middles) - 1)] == size)
        code = np.where(tie & (code & 1 == 1), code + 1, code)
        code = np.where(np.isnan(x), 0x7F, code)
        return (code | (np.signbit(x) << 7)).astype(np.uint8)

    def round(self, x: Array) -> Array:
        return self.decode(self.encode(x))


_E4M3 = _Fp8(4, 3, finite_codes=127)
_E5M2 = _Fp8(5, 2, finite_codes=124)
_FP8 = {"fp8e4nv": _E4M3, "fp8e5": _E5M2}

bfloat16.round = round_bf16
float8e4nv.round = _E4M3.round
float8e5.round = _E5M2.round


def decode(raw: Array, dtype: DType) -> Array:
    """Bits as they lie in memory → the held representation."""
    if dtype is bfloat16:
        return decode_bf16(raw)
    return _FP8[dtype.name].decode(raw) if dtype.name in _FP8 else raw


def encode(held: Array, dtype: DType) -> Array:
    """The held representation, already rounded → bits as they lie in memory."""
    if dtype is bfloat16:
        return encode_bf16(held)
    if dtype.name in _FP8:
        return _FP8[dtype.name].encode(held)
    return held.astype(dtype.raw, copy=False)
