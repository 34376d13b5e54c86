# ruff: noqa: E501  (a table: one line is one row)
"""Every operation × element type × shape: kernels made from a table, run by Triton's interpreter and by ours.

    TRITON_INTERPRET=1 python -m tests.grader.interpreter.operations [STEP]    every STEP-th, all without it

Needs triton, in a process of its own. Prints one line a difference, then totals. bf16 and fp8 are not here:
Triton's interpreter computes them wrongly; `test_narrow_types.py` compares those with torch. Left out for the same
reason: `~` of unsigned integers, on which it raises OverflowError, `tl.umulhi` of negative int32, which it
extends to 64 bits with their sign, and `tl.fma` of fp32 and fp16, which it rounds twice (once since 3.9).
"""

from __future__ import annotations

import itertools
import sys
import tempfile
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.grader.interpreter.fuzzing import load

FLOATS = ("float16", "float32", "float64")
WIDE = ("float32", "float64")
SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32")
INTEGERS = SIGNED + UNSIGNED
NUMBERS = FLOATS + INTEGERS
SHAPES = ((8,), (1, 16), (4, 8), (16, 1))
SQUARE = ((16, 16),)
LINES = ((32,),)
TILES = ((4, 8), (8, 4), (2, 4, 8))

# expression in a, b (tiles) → element types, shapes
TABLE: tuple[tuple[str, tuple[str, ...], tuple[tuple[int, ...], ...]], ...] = (
    *((e, NUMBERS, SHAPES) for e in ("a + b", "a - b", "a * b", "a / b", "-a", "a + 1", "2 * a", "1 - a")),
    *((e, NUMBERS, SHAPES) for e in ("a < b", "a <= b", "a > b", "a >= b", "a == b", "a != b")),
    *((e, NUMBERS, SHAPES) for e in ("tl.maximum(a, b)", "tl.minimum(a, b)", "tl.where(a > b, a, b)", "tl.abs(a)")),
    *((e, INTEGERS, SHAPES) for e in ("a // b", "a % b", "a & b", "a | b", "a ^ b", "a << 2", "a >> 1")),
    *((e, FLOATS, SHAPES) for e in ("a % b", "tl.clamp(a, b * 0 - 1, b * 0 + 1)")),
    ("tl.fma(a, b, a)", ("float64",), SHAPES),
    *(
        (f"tl.{name}(a)", WIDE, SHAPES)
        for name in ("exp", "exp2", "sqrt", "rsqrt", "sin", "cos", "floor", "ceil", "erf", "sigmoid", "log", "log2")
    ),
    ("tl.sqrt_rn(a)", ("float32",), SHAPES),
    ("tl.div_rn(a, b)", ("float32",), SHAPES),
    ("tl.fdiv(a, b)", WIDE, SHAPES),
    ("~a", SIGNED, SHAPES),
    ("tl.umulhi(a * 123456789, b)", ("uint32",), SHAPES),
    ("tl.cdiv(a, b)", ("int32",), SHAPES),
    *((e, NUMBERS, ((16,),)) for e in ("tl.sum(a, axis=0)", "tl.max(a, axis=0)", "tl.min(a, axis=0)", "tl.sum(a)")),
    *((e, NUMBERS, TILES) for e in ("tl.sum(a, axis=1)", "tl.max(a, axis=0)", "tl.min(a, axis=-1)", "tl.sum(a)")),
    *((e, WIDE + SIGNED, TILES) for e in ("tl.argmax(a, axis=1)", "tl.argmin(a, axis=0)")),
    ("tl.sum(a, axis=1, keep_dims=True)", NUMBERS, TILES),
    ("tl.max(a, axis=0, keep_dims=True)", NUMBERS, TILES),
    ("tl.sum(a, axis=None, keep_dims=True)", ("float32", "int32"), TILES),
    ("tl.sum(a, axis=0, dtype=tl.int64)", SIGNED, TILES),
    ("tl.max(a, axis=1, return_indices=True)[0]", ("float32", "int32"), TILES),
    ("tl.xor_sum(a, axis=0)", INTEGERS, TILES),
    ("tl.reduce_or(a, axis=1)", INTEGERS, TILES),
    *((e, ("float32", "float64", *SIGNED), TILES) for e in ("tl.cumsum(a, axis=1)", "tl.cumsum(a, axis=0, reverse=True)")),
    ("tl.cumprod(a, axis=1)", WIDE, TILES),
    ("tl.reduce(a, 1, add)", ("float32", "int32"), TILES),
    ("tl.associative_scan(a, 1, add)", ("float32", "int32"), ((4, 8),)),
    ("tl.associative_scan(a, 0, add, reverse=True)", ("float32",), ((4, 8),)),
    ("tl.softmax(a)", ("float32",), ((16,), (8, 4))),
    *((e, ("float32", "int32"), LINES) for e in ("tl.sort(a)", "tl.sort(a, descending=True)", "tl.topk(a, 8)")),
    ("tl.sort(a)", ("float32", "int16"), TILES[:2]),
    ("tl.flip(a, 1)", ("float32", "int8"), TILES),
    *((e, ("float32", "int8"), ((4, 8), (8, 4))) for e in ("tl.trans(a)", "a.T", "tl.permute(a, (1, 0))", "a.trans(1, 0)")),
    ("tl.permute(a, 2, 0, 1)", ("float32",), ((2, 4, 8),)),
    *((e, ("float32", "int16"), TILES) for e in ("tl.reshape(a, (a.numel,))", "a.reshape(2, a.numel // 2)", "tl.ravel(a)")),
    *((e, ("float32", "int16"), TILES) for e in ("tl.join(a, b)", "tl.interleave(a, b)", "tl.expand_dims(a, 1)", "a[None]")),
    ("tl.split(tl.join(a, b))[1]", ("float32",), TILES),
    ("tl.cat(a, b, can_reorder=True)", ("float32", "int32"), LINES),
    ("tl.cat(a, b, dim=1)", ("float32",), ((4, 8),)),
    ("tl.broadcast_to(tl.sum(a, 1, keep_dims=True), a.shape)", ("float32",), ((4, 8),)),
    ("tl.sum(a, 1)[:, None] + b", ("float32",), ((4, 8),)),
    ("tl.gather(a, (tl.abs(b).to(tl.int32) % a.shape[0]), 0)", ("float32", "int32"), ((16,), (4, 8))),
    ("tl.histogram(tl.abs(a) % 8, 8)", ("int32",), LINES),
    *((f"a.to(tl.{to})", NUMBERS, ((8,),)) for to in ("float16", "float32", "float64", *SIGNED, "uint8", "uint32", "int1")),
    ("a.to(tl.int32, bitcast=True)", ("float32", "uint32"), ((8,),)),
    ("a.to(tl.uint16, bitcast=True)", ("float16", "int16"), ((8,),)),
    *((e, ("float16", "float32", "float64"), SQUARE) for e in ("tl.dot(a, b)", "tl.dot(a, tl.trans(b))", "tl.dot(tl.trans(a), b)")),
    ("tl.dot(a, b, tl.dot(b, a))", ("float32",), SQUARE),
    ("tl.dot(a, b)", ("float32",), ((2, 16, 16),)),
    ("tl.dot(a, tl.trans(b))", ("int8",), ((32, 32),)),
    ("tl.zeros_like(a) + tl.full(a.shape, 3, tl.int32) + tl.zeros(a.shape, tl.int8)", ("float32", "int16"), TILES),
    ("tl.rand(7, a)", ("int32", "int64"), ((16,), (4, 8))),
    ("tl.randn(3, a)", ("int32",), ((16,),)),
    ("tl.randint(1234567890123, a)", ("int32",), ((16,),)),
    ("tl.rand4x(5, a)[2]", ("int32",), ((16,),)),
    ("tl.swizzle2d(tl.abs(a) % 8, b % 8, 8, 8, 4)[1]", ("int32",), ((16,),)),
)  # fmt: skip

_HEAD = """import triton
import triton.language as tl


@triton.jit
def add(x, y):
    return x + y

"""
_KERNEL = """
@triton.jit
def kernel_{number}(x, y, out):
    at = {index}
    a = tl.load(x + at + tl.program_id(0) * {size})
    b = tl.load(y + at + tl.program_id(0) * {size})
    r = {expression}
    if len(r.shape) == 0:
        tl.store(out + tl.program_id(0) * 1024, r)
    else:
        tl.store(out + tl.program_id(0) * 1024 + tl.arange(0, r.numel), tl.reshape(r, (r.numel,)))
"""
PROGRAMS = 3


@dataclass(frozen=True)
class Operation:
    expression: str
    dtype: str
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        size = 1
        for extent in self.shape:
            size *= extent
        return size

    def source(self, number: int) -> str:
        terms, step = [], self.size
        for axis, extent in enumerate(self.shape):
            step //= extent
            index = ", ".join(":" if other == axis else "None" for other in range(len(self.shape)))
            terms.append(f"tl.arange(0, {extent})[{index}] * {step}")
        return _KERNEL.format(number=number, index=" + ".join(terms), size=self.size, expression=self.expression)


def operations() -> Iterator[Operation]:
    for expression, dtypes, shapes in TABLE:
        for dtype, shape in itertools.product(dtypes, shapes):
            yield Operation(expression, dtype, shape)


def arguments(operation: Operation, seed: int) -> list[Any]:
    """Small numbers of both signs, no zero in the second operand."""
    import torch

    torch.manual_seed(seed)
    count = operation.size * PROGRAMS
    dtype = getattr(torch, operation.dtype)
    if dtype.is_floating_point:
        x, y = torch.randn(count).to(dtype), torch.randn(count).to(dtype)
        if any(word in operation.expression for word in ("log", "sqrt")):
            x = x.abs()
    else:
        low = 0 if operation.dtype.startswith("u") or "rand" in operation.expression else -60
        x = torch.randint(low, 60, (count,)).to(dtype)
        y = torch.randint(1, 30, (count,)).to(dtype)
    out = torch.zeros(PROGRAMS * 1024, dtype=torch.float64)
    if not dtype.is_floating_point and "/" not in operation.expression.replace("//", ""):
        out = out.to(torch.int64)
    return [x, y, out]


def main(step: int) -> int:
    """Compare every `step`-th operation; the number of differences."""
    import torch

    from grader import interpreter

    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    interpreter.configure(options=interpreter.Options(undefined="zero", dot_minimum=False))
    every = list(operations())[::step]
    different = 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "operations.py"
        path.write_text(_HEAD + "\n".join(operation.source(i) for i, operation in enumerate(every)))
        stock = load(path, "operations_stock")
        with interpreter.installed():
            ours = load(path, "operations_ours")
        for i, operation in enumerate(every):
            different += _compare(getattr(stock, f"kernel_{i}"), getattr(ours, f"kernel_{i}"), operation, i)
    print(f"{len(every)} operations, {different} different")
    return different


def _compare(stock: Any, ours: Any, operation: Operation, seed: int) -> int:
    import torch

    expected, actual = arguments(operation, seed), arguments(operation, seed)
    failures = []
    for kernel, given in ((stock, expected), (ours, actual)):
        try:
            kernel[(PROGRAMS,)](*given)
        except Exception as error:
            failures.append(f"{type(error).__name__}: {error}".replace("\n", " ")[:150])
        else:
            failures.append("")
    if any(failures):
        print(f"{operation}: triton {failures[0] or 'fine'}; ours {failures[1] or 'fine'}")
        return 1
    if torch.equal(expected[2].nan_to_num(7e9), actual[2].nan_to_num(7e9)):
        return 0
    at = int((expected[2] != actual[2]).nonzero()[0])
    print(f"{operation}: element {at}: triton {expected[2][at].item()}, ours {actual[2][at].item()}")
    return 1


if __name__ == "__main__":
    sys.exit(min(1, main(int(sys.argv[1]) if len(sys.argv) > 1 else 1)))
