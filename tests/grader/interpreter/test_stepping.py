"""The step view of one program."""

from __future__ import annotations

import json
from dataclasses import asdict

import pytest
import torch

from grader import interpreter
from tests.grader.interpreter.running import module

SOURCE = """
@triton.jit
def rescale(total, old, new):
    factor = tl.exp(old - new)
    return total * factor

@triton.jit
def kernel(x, out, cols, B: tl.constexpr):
    row = tl.program_id(0)
    m = -float("inf")
    l = 0.0
    for start in range(0, cols, B):
        at = start + tl.arange(0, B)
        v = tl.load(x + row * cols + at, mask=at < cols, other=-float("inf"))
        new = tl.maximum(m, tl.max(v, axis=0))
        l = rescale(l, m, new) + tl.sum(tl.exp(v - new), axis=0)
        m = new
    if row > 0:
        l = l * 1.0
    tl.store(out + row, m + tl.log(l))
"""


def watched(program: tuple[int, int, int], **limits: int) -> tuple[interpreter.Stepper, torch.Tensor]:
    x, out = torch.arange(30.0).reshape(3, 10) / 10, torch.zeros(3)
    stepper = interpreter.Stepper(program, **limits)
    kernel = module(SOURCE).kernel
    interpreter.configure(stepper=stepper)
    try:
        kernel[(3,)](x, out, 10, B=4)
    finally:
        interpreter.configure()
    return stepper, x


@pytest.mark.parametrize("row", [0, 2])
def test_the_running_maximum_and_sum_of_one_row(row: int) -> None:
    stepper, x = watched((row, 0, 0))
    peaks = [step.changed["m"].values[0] for step in stepper.steps if step.line == 16 and "m" in step.changed]
    assert peaks == [pytest.approx(x[row, min(end, 10) - 1].item()) for end in (4, 8, 12)]
    sums = [step.changed["l"].values[0] for step in stepper.steps if step.line == 15 and "l" in step.changed]
    for end, total in zip((4, 8, 10), sums, strict=True):
        assert total == pytest.approx((x[row, :end] - x[row, end - 1]).exp().sum().item(), rel=1e-5)
    first = next(step for step in stepper.steps if "m" in step.changed)
    assert first.changed["m"] == interpreter.Shown("fp32", (), ("−∞",))
    inner = [step for step in stepper.steps if step.function == "rescale"]
    assert [step.depth for step in inner] == [1, 1, 1]
    assert inner[0].changed["factor"].values == (0.0,)
    tile = next(step.changed["v"] for step in stepper.steps if "v" in step.changed)
    assert tile.shape == (4,)
    assert tile.values == tuple(pytest.approx(value) for value in x[row, :4].tolist())
    assert any(step.line == 18 for step in stepper.steps) == (row > 0)


def test_pointers_constants_and_limits() -> None:
    stepper, _ = watched((1, 0, 0), most_steps=5, most_values=2)
    assert stepper.cut
    assert len(stepper.steps) == 5
    assert stepper.steps[0].changed["x"] == interpreter.Shown("pointer<fp32>", (), (0,), tensor="x")
    assert stepper.steps[0].changed["B"] == interpreter.Shown("constexpr", (), (4,))
    assert stepper.steps[3].changed["at"].cut
    json.dumps([asdict(step) for step in stepper.steps], allow_nan=False)


def test_a_program_that_does_not_exist_shows_nothing() -> None:
    assert watched((9, 0, 0))[0].steps == []
