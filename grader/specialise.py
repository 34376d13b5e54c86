"""A launch in the compiler's terms: types instead of values, constants, and what the numbers let it assume.

Pure, on the judge's side. What a runner says of a launch is hostile: an element type that does not exist, or an
argument that cannot be written down, makes a launch that is not compiled.
"""

from __future__ import annotations

import ast
from typing import Final

from grader import wire

ALIGNMENT: Final = 16  # bytes or units that the compiler is told a pointer or number is a multiple of
TYPES: Final = {
    **{name: name for name in ("fp16", "bf16", "fp32", "fp64")},
    **{f"int{bits}": f"i{bits}" for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": f"u{bits}" for bits in (8, 16, 32, 64)},
    "bool": "i1",
    "int1": "i1",
    "fp8e4nv": "fp8e4nv",
    "fp8e5": "fp8e5",
}
WARPS: Final = (1, 2, 4, 8, 16, 32)
STAGES: Final = range(1, 11)


def constants_of(source: str) -> dict[str, frozenset[str]]:
    """The tl.constexpr parameters of each function in a file. Empty for text that is not Python."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    found: dict[str, frozenset[str]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            given = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
            constant = {a.arg for a in given if a.annotation and "constexpr" in ast.unparse(a.annotation)}
            found[node.name] = found.get(node.name, frozenset()) | constant
    return found


def specialised(launch: wire.Launch, constants: frozenset[str]) -> wire.Kernel | None:
    """The kernel as `launch` fixes it; None where that cannot be said."""
    signature: dict[str, str | wire.Kinds] = {}
    fixed: dict[str, wire.Traced] = {}
    divisible: list[str] = []
    for name, value in launch.arguments.items():
        kind = _constant(value) if name in constants else _kind(value)
        if kind is None:
            return None
        if _has_constant(kind):
            fixed[name] = value
        if kind != wire.CONSTANT:
            signature[name] = kind
            if _divisible(value):
                divisible.append(name)
    if not launch.arguments:
        return None
    # What the language does not look at must not keep it from looking: odd figures are taken as the usual ones.
    return wire.Kernel(
        name=launch.kernel,
        signature=signature,
        constants=fixed,
        divisible=divisible,
        num_warps=launch.num_warps if launch.num_warps in WARPS else 4,
        num_stages=launch.num_stages if launch.num_stages in STAGES else 3,
    )


def _constant(value: wire.Traced) -> str | None:
    """For a tl.constexpr; None where it holds what is no constant."""
    match value:
        case wire.Several():
            return wire.CONSTANT if all(_constant(item) for item in value.items) else None
        case wire.Pointer() | wire.Described() | wire.Unnamed():
            return None
    return wire.CONSTANT


def _kind(value: wire.Traced) -> str | wire.Kinds | None:
    """As the compiler writes it; None where that can't be said."""
    match value:
        case wire.Pointer():
            return f"*{TYPES[value.dtype]}" if value.dtype in TYPES else None
        case wire.Described():
            if value.base.dtype not in TYPES:
                return None
            return f"tensordesc<{TYPES[value.base.dtype]}{[int(n) for n in value.block_shape]}>"
        case wire.Several():
            kinds = [_kind(item) for item in value.items]
            return wire.Kinds(items=[kind for kind in kinds if kind is not None]) if all(kinds) else None
        case wire.Unnamed():
            return None
        case bool():
            return "u1"
        case int() if value != 1:
            return "i32" if -(1 << 31) <= value < 1 << 31 else "i64"
        case float():
            return "fp32"
    return wire.CONSTANT


def _has_constant(kind: str | wire.Kinds) -> bool:
    return any(map(_has_constant, kind.items)) if isinstance(kind, wire.Kinds) else kind == wire.CONSTANT


def _divisible(value: wire.Traced) -> bool:
    if isinstance(value, wire.Pointer):  # memory itself is aligned far better
        return value.offset * _bytes(TYPES[value.dtype]) % ALIGNMENT == 0
    return isinstance(value, int) and not isinstance(value, bool) and value % ALIGNMENT == 0


def _bytes(kind: str) -> int:
    """The size of an element: "fp8e5" has one byte, "i1" too."""
    return max(int(kind.lstrip("abcdefghijklmnopqrstuvwxyz").split("e")[0]) // 8, 1)
