"""Random kernels, run by Triton's interpreter program by program and by ours in chunks of 1, 3, 64 and all.

    TRITON_INTERPRET=1 python -m tests.grader.interpreter.fuzzing 0 200    seeds from, to; four kernels a seed

Needs triton, and a process of its own, since Triton reads the variable when a kernel is defined. Prints one line a
difference, then totals; the exit status says whether there was any.

The kernels only do what both evaluators define: no NaN, no division by zero, no name behind the branch or loop that
made it, and atomics only where their order does not show. A transposed tile is used at once: NumPy adds up in the
order of memory, and after a branch that transposes on one side only, a batch cannot have both orders. Kernels with
block pointers are left out where Triton's interpreter has none any more.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

KERNELS_A_SEED = 4
GRID = (3, 2)
WIDTH = 16
CHUNKS = (1, 3, 64, None)
NO_BLOCK_POINTERS = (3, 9)  # the first triton without them

_HEAD = """import triton
import triton.language as tl


@triton.jit
def early(a, c, k: tl.constexpr):
    if c > k:
        return a * 0.5
    a = a + c
    return a


@triton.jit
def both(a, c):
    if c % 2 == 0:
        a = a * 0.25
    else:
        a = a - 1.0
    return a, c + 1


@triton.jit
def larger(a, b):
    return tl.where(a > b, a, b)

"""

_PROLOGUE = """
@triton.jit
def kernel_{number}(x, w, o, count, n, B: tl.constexpr):
    p = tl.program_id(0)
    q = tl.program_id(1)
    own = (p * 2 + q) * B
    i = tl.arange(0, B)
    a = tl.load(x + own + i)
    b = a * 0.5
    e = tl.load(x + (p * 3 + q) % 7 * B + i, mask=i < 11, other=1.0)
    t = a[:, None] * b[None, :] * 0.25
    c = tl.load(w + p)
    d = c + q
    s = tl.sum(a, axis=0)
"""
_EPILOGUE = """    u = tl.sum(t, axis=1) + tl.max(t, axis=0)
    tl.store(o + own + i, a + b + e + u + c + d + s)
"""


class Writer:
    """Writes the body of one kernel. Blocks a, b, e; tile t; integers c, d; float s."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.loops = 0

    def pick(self, *choices: str) -> str:
        return self.rng.choice(choices)

    def block(self) -> str:
        return self.pick("a", "b", "e")

    def integer(self) -> str:
        return self.pick("p", "q", "c", "d")

    def small(self, high: int) -> str:
        return str(self.rng.randint(0, high))

    def condition(self) -> str:
        return self.pick(
            f"{self.integer()} % {self.rng.randint(2, 4)} == {self.small(2)}",
            f"{self.integer()} > {self.small(5)}",
            f"({self.integer()} < {self.small(6)}) & ({self.integer()} != {self.small(4)})",
            f"{self.integer()} == {self.small(3)} or {self.integer()} > {self.small(4)}",
            f"not {self.integer()} == {self.small(3)}",
            f"tl.sum({self.block()}, axis=0) > 0.0",
            f"tl.max(t, axis=None) > {self.small(2)}.0",
            f"s < {self.small(3)}.0 and {self.integer()} < 5",
        )

    def simple(self) -> str:
        x, y, z = self.block(), self.block(), self.block()
        k = self.integer()
        return self.pick(
            f"{x} = {y} * 0.75 + {z} * 0.125",
            f"{x} = tl.where({y} > 0.1, {x}, -{z} * 0.5)",
            f"{x} = tl.where(i < {k}, {y}, 0.25)",
            f"{x} = tl.exp(-tl.abs({y})) - {z} * 0.5",
            f"{x} = tl.minimum(tl.maximum({y}, -2.0), {z})",
            f"{x} += {k} * 0.125",
            f"{x} = {y} - tl.max({z}, axis=0)",
            f"{x} = tl.cumsum({y} * 0.0625, axis=0)",
            f"{x} = tl.load(x + {k} % 9 * B + i, mask=(i < {k} + 3) & (i != 5), other={x})",
            f"{x} = early({y}, {k}, {self.rng.randint(0, 4)})",
            f"{x}, d = both({x}, d % 5)",
            f"{x} = tl.flip({x}, 0)",
            f"{x} = tl.sort({x})",
            f"{x} = {y}.to(tl.float16).to(tl.float32)",
            f"d = (d * 3 + {k}) % 11",
            f"c = (c + {k}) % 7",
            f"d = {k} if {self.integer()} > {self.small(4)} else d",
            f"c = tl.minimum({k}, 6)",
            "c = tl.sum((a > 0.0).to(tl.int32), axis=0) % 6",
            f"d = {k} * 5 // 3 + c",
            f"{x} += (-{k} * 5 // 3 + (2 - {k}) % 3) * 0.125",
            f"s = s * 0.5 + tl.sum({x}, axis=0) * 0.125",
            f"s = tl.reduce({x}, 0, larger)",
            f"t = t * 0.5 + {x}[:, None] * 0.25 + {y}[None, :] * 0.25",
            f"t = tl.where((i[:, None] < {k}) | (i[None, :] > {k}), t, {x}[None, :])",
            "t = tl.dot(tl.where(tl.abs(t) < 2.0, t, 0.5), tl.where(tl.abs(t) < 1.0, t, 0.25)) * 0.0625",
            "t = tl.dot(tl.where(tl.abs(t) < 2.0, t, 0.5), tl.trans(tl.where(tl.abs(t) < 1.0, t, 0.25))) * 0.0625",
            f"{x} = tl.sum(tl.trans(t), axis={self.rng.randint(0, 1)}) * 0.0625",
            f"{x} = tl.sum(t, axis=0) * 0.0625",
            f"{x} = tl.max(t, axis=1) * 0.5",
            f"t = tl.load(tl.make_block_ptr(x, (20, B), (B, 1), ({k} % 7, 0), (B, B), (1, 0)), "
            f"boundary_check=(0,), padding_option='zero')",
            f"tl.store(o + own + i, {x}, mask=i < {k})",
            f"tl.atomic_add(count + {k} % 8, {self.integer()})",
            f"tl.atomic_max(count + 8 + i % 8, {k} + i, mask=i < 12)",
        )

    def body(self, depth: int, inside_loop: bool, indent: int) -> Iterator[str]:
        pad = "    " * indent
        for _ in range(self.rng.randint(1, 3)):
            chance = self.rng.random()
            if depth == 0 or chance < 0.4:
                yield pad + self.simple()
            elif chance < 0.65:
                yield f"{pad}if {self.condition()}:"
                yield from self.body(depth - 1, inside_loop, indent + 1)
                if self.rng.random() < 0.6:
                    yield f"{pad}else:"
                    yield from self.body(depth - 1, inside_loop, indent + 1)
            elif chance < 0.9:
                yield from self.loop(depth, indent)
            elif not inside_loop:
                yield f"{pad}if {self.condition()}:"
                yield f"{pad}    tl.store(o + own + i, {self.block()})"
                yield f"{pad}    return"
            else:
                yield pad + self.simple()

    def loop(self, depth: int, indent: int) -> Iterator[str]:
        pad, self.loops = "    " * indent, self.loops + 1
        name = f"k{self.loops}"
        kind = self.rng.random()
        if kind < 0.55:
            start = self.pick("0", "q", "c % 3")
            stop = self.pick("n", "p + 1", "c % 5", "d % 4 + 1", "3")
            yield f"{pad}for {name} in {self.pick('range', 'tl.range')}({start}, {stop}):"
        elif kind < 0.7:
            yield f"{pad}for {name} in tl.static_range({self.rng.randint(1, 3)}):"
        else:
            yield f"{pad}{name} = {self.integer()} % 4"
            yield f"{pad}while {name} > 0:"
        yield from self.body(depth - 1, True, indent + 1)
        yield f"{pad}    a = a * 0.5 + {name} * 0.125"
        if kind >= 0.7:
            yield f"{pad}    {name} -= 1"


def source(seed: int) -> str:
    """A module of random kernels."""
    rng = random.Random(seed)
    parts = [_HEAD]
    for number in range(KERNELS_A_SEED):
        body = "\n".join(Writer(rng).body(3, inside_loop=False, indent=1))
        parts.append(_PROLOGUE.format(number=number) + body + "\n" + _EPILOGUE)
    return "\n".join(parts)


def load(path: Path, name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main(first: int, last: int) -> int:
    """Compare the kernels of these seeds; the number of differences."""
    import torch

    from grader import interpreter

    torch.set_num_threads(1)
    different = kernels = without = 0
    lacking = version() >= NO_BLOCK_POINTERS
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(first, last):
            path = Path(folder) / f"seed_{seed}.py"
            path.write_text(text := source(seed))
            bodies = text.split("@triton.jit\ndef kernel_")[1:]
            stock = load(path, f"stock_{seed}")
            with interpreter.installed():
                ours = load(path, f"ours_{seed}")
            for number, body in enumerate(bodies):
                if lacking and "make_block_ptr" in body:
                    without += 1
                    continue
                kernels += 1
                name = f"kernel_{number}"
                different += _compare(getattr(stock, name), getattr(ours, name), seed, number)
    left_out = f", {without} with block pointers left out" if without else ""
    print(f"{kernels} kernels, {different} different{left_out}, {time.perf_counter() - began:.0f} s")
    return different


def version() -> tuple[int, ...]:
    """Of the triton that is installed."""
    return tuple(int(part) for part in importlib.metadata.version("triton").split(".")[:2])


def _arguments(seed: int) -> list[Any]:
    import torch

    torch.manual_seed(seed)
    x = torch.randn(32, WIDTH)
    w = torch.randint(0, 7, (GRID[0],), dtype=torch.int32)
    return [x, w, torch.zeros(GRID[0] * GRID[1], WIDTH), torch.zeros(16, dtype=torch.int32)]


def _compare(stock: Any, ours: Any, seed: int, number: int) -> int:
    import torch

    from grader import interpreter

    expected = _arguments(seed)
    stock[GRID](*expected, 3, B=WIDTH)
    for chunk in CHUNKS:
        interpreter.configure(options=interpreter.Options(undefined="zero", chunk=chunk))
        actual = _arguments(seed)
        try:
            ours[GRID](*actual, 3, B=WIDTH)
        except Exception as error:
            print(f"seed {seed} kernel {number} chunk {chunk}: {type(error).__name__} {error}")
            return 1
        for place in (2, 3):
            if not torch.equal(actual[place], expected[place]):
                largest = (actual[place] - expected[place]).abs().max().item()
                print(f"seed {seed} kernel {number} chunk {chunk}: output {place} differs by {largest}")
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(min(1, main(int(sys.argv[1]), int(sys.argv[2]))))
