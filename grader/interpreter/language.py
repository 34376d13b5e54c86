"""The names of `triton.language`: types, functions, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any

from grader.interpreter import (
    access,
    arithmetic,
    atomics,
    blocks,
    casting,
    descriptors,
    dtypes,
    elementary,
    linear,
    logic,
    printing,
    random,
    reduce,
    shapes,
    sorting,
)
from grader.interpreter.scope import Builtin, Constexpr, Missing, RangeCall
from grader.interpreter.value import Value, value_of


class PropagateNan(Enum):
    """Whether a NaN wins in maximum, minimum and clamp. False in a condition means NONE."""

    NONE = 0
    ALL = 0xFFFF

    def __bool__(self) -> bool:
        return self is PropagateNan.ALL


_FUNCTIONS: dict[Any, str] = {
    shapes: "program_id num_programs arange full zeros zeros_like expand_dims broadcast_to broadcast reshape view "
    "ravel permute trans join split interleave cat flip gather squeeze unsqueeze",
    casting: "cast",
    arithmetic: "add sub mul",
    logic: "where maximum minimum clamp",
    elementary: "exp exp2 log log2 sqrt sqrt_rn rsqrt sin cos floor ceil erf abs sigmoid fdiv div_rn fma umulhi "
    "cdiv swizzle2d map_elementwise",
    reduce: "sum max min argmax argmin xor_sum reduce_or reduce associative_scan cumsum cumprod softmax histogram",
    sorting: "sort topk bitonic_merge",
    linear: "dot dot_scaled",
    access: "load store",
    atomics: "atomic_cas",
    blocks: "make_block_ptr advance",
    descriptors: "make_tensor_descriptor load_tensor_descriptor store_tensor_descriptor",
    random: "philox philox_impl randint randint4x rand rand4x randn randn4x uint_to_uniform_float "
    "pair_uniform_to_normal",
    printing: "device_print device_assert static_assert static_print assume debug_barrier",
}
_REFUSED = "inline_asm_elementwise float8e4b15 float8e4b8 float8e5b16 condition target_info slice"


def _functions() -> dict[str, Builtin]:
    found: dict[str, Callable[..., Any]] = {
        name: getattr(module, name) for module, names in _FUNCTIONS.items() for name in names.split()
    }
    for name in ("add", "max", "min", "and", "or", "xor", "xchg"):
        found[f"atomic_{name}"] = atomics.atomic(name)
    for name in ("multiple_of", "max_contiguous", "max_constancy"):
        found[name] = printing.same
    found["to_tensor"] = lambda run, x: value_of(x)
    return {name: Builtin(name, function) for name, function in found.items()}


FUNCTIONS = _functions()

TYPES: dict[str, Any] = {
    "dtype": dtypes.DType,
    "pointer_type": dtypes.PointerType,
    "void": dtypes.void,
    "pi32_t": dtypes.PointerType(dtypes.int32),
    "float16": dtypes.float16,
    "bfloat16": dtypes.bfloat16,
    "float32": dtypes.float32,
    "float64": dtypes.float64,
    "float8e4nv": dtypes.float8e4nv,
    "float8e5": dtypes.float8e5,
    **{name: dtype for name, dtype in dtypes.NAMED.items() if dtype.is_int()},
    "constexpr": Constexpr,
    "tensor": Value,
    "tensor_descriptor": descriptors.Descriptor,
    "tensor_descriptor_base": descriptors.Descriptor,
    "tuple": tuple,
    "PropagateNan": PropagateNan,
}

RANGES = {"range": RangeCall("tl.range", static=False), "static_range": RangeCall("tl.static_range", static=True)}

LIBDEVICE: dict[str, Builtin] = {
    name: Builtin(name, getattr(elementary, name))
    for name in [
        "exp",
        "exp2",
        "log",
        "log2",
        "sqrt",
        "rsqrt",
        "sin",
        "cos",
        "floor",
        "ceil",
        "erf",
        "abs",
        "fma",
        "tanh",
        "tan",
        "asin",
        "acos",
        "atan",
        "sinh",
        "cosh",
        "log1p",
        "expm1",
        "log10",
        "trunc",
        "rint",
        "nearbyint",
        "fast_expf",
        "pow",
        "isnan",
        "isinf",
        "div_rn",
    ]
}


def names() -> dict[str, Any]:
    """Everything that `tl.` gives."""
    return {
        **{name: Missing(f"tl.{name}") for name in _REFUSED.split()},
        **TYPES,
        **FUNCTIONS,
        **RANGES,
        "PropagateNan": PropagateNan,
    }
