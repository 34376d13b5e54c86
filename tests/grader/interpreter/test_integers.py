"""Random integer expressions against exact integers: the values, and a wrap found exactly where there is one."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

import pytest
import torch

from tests.grader.interpreter.running import kinds, launch

PROGRAMS, LANES = 5, 4


@dataclass
class Tree:
    """An expression, and its value for a program and lane. Constants follow Python's rules, as in Triton."""

    text: str
    value: Callable[[int, int], int]
    constant: bool = False


class Exact:
    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.loaded = [
            [self.rng.choice([-9, 3, 70_000, -40_000, 2**30]) for _ in range(LANES)] for _ in range(PROGRAMS)
        ]
        self.wraps = False

    def narrow(self, x: int) -> int:
        wrapped = (x + 2**31) % 2**32 - 2**31
        self.wraps |= wrapped != x
        return wrapped

    def leaf(self) -> Tree:
        constant = self.rng.choice([2, 3, -5, 1000, 65_536])
        return self.rng.choice(
            [
                Tree("p", lambda p, i: p),
                Tree("i", lambda p, i: i),
                Tree("v", lambda p, i: self.loaded[p][i]),
                Tree("n", lambda p, i: 1_000_003),
                Tree(f"({constant})", lambda p, i: constant, constant=True),
            ]
        )

    def tree(self, depth: int) -> Tree:
        if depth == 0:
            return self.leaf()
        a, b = self.tree(depth - 1), self.tree(self.rng.randint(0, depth - 1))
        folded = a.constant and b.constant
        fit = (lambda x: x) if folded else self.narrow
        operator = self.rng.choice("++-**%/")
        if operator == "+":
            return Tree(f"({a.text} + {b.text})", lambda p, i: fit(a.value(p, i) + b.value(p, i)), folded)
        if operator == "-":
            return Tree(f"({a.text} - {b.text})", lambda p, i: fit(a.value(p, i) - b.value(p, i)), folded)
        if operator == "*":
            return Tree(f"({a.text} * {b.text})", lambda p, i: fit(a.value(p, i) * b.value(p, i)), folded)
        divisor = self.rng.choice([3, 7, 64])
        if operator == "%":
            rest = int.__mod__ if a.constant else remainder
            return Tree(f"({a.text} % {divisor})", lambda p, i: rest(a.value(p, i), divisor), a.constant)
        part = int.__floordiv__ if a.constant else quotient
        return Tree(f"({a.text} // {divisor})", lambda p, i: part(a.value(p, i), divisor), a.constant)


def quotient(a: int, b: int) -> int:
    return abs(a) // b if a >= 0 else -(abs(a) // b)


def remainder(a: int, b: int) -> int:
    return a - b * quotient(a, b)


@pytest.mark.parametrize("seed", range(80))
def test_int32_expressions(seed: int) -> None:
    exact = Exact(seed)
    tree = exact.tree(4)
    if tree.constant:
        pytest.skip("no tensor in it")
    expected = [
        [exact.narrow(exact.narrow(p + i) + tree.value(p, i)) for i in range(LANES)] for p in range(PROGRAMS)
    ]
    source = f"""
    @triton.jit
    def kernel(x, y, n, B: tl.constexpr):
        p = tl.program_id(0)
        i = tl.arange(0, B)
        v = tl.load(x + p * B + i)
        tl.store(y + p * B + i, (p + i) + {tree.text})
    """
    x, y = torch.tensor(exact.loaded, dtype=torch.int32), torch.zeros(PROGRAMS, LANES, dtype=torch.int32)
    record = launch(source, (PROGRAMS,), x, y, 1_000_003, B=LANES)
    assert y.tolist() == expected
    assert kinds(record) == (["integer-wrap"] if exact.wraps else [])
