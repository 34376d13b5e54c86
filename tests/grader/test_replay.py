"""Launches run again from a file's text: right kernels give their result, and what is missing is said."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pytest

from grader import wire
from grader.replay import Replayer

KERNEL = """
import triton
import triton.language as tl

open("/proc/self/nothing")  # host code, which must not run

@triton.jit
def double(x, out, n, SCALE: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n, other=0.0) * SCALE, mask=at < n)
"""
X = np.arange(10, dtype=np.float32)


@pytest.fixture(scope="module")
def replayer() -> Replayer:
    return Replayer()


def pointer(memory: str, dtype: str = "fp32", **changes: Any) -> wire.Pointer:
    layout: dict[str, Any] = {"shape": (10,), "strides": (1,), "offset": 0}
    return wire.Pointer(memory=memory, dtype=dtype, **{**layout, **changes})


def order(**arguments: Any) -> wire.Replay:
    given = {"x": pointer("arg0"), "out": pointer("tmp1"), "n": 10, "SCALE": 2.0, "BLOCK": 8, **arguments}
    launch = wire.Launch(kernel="double", grid=(2,), constants={}, num_warps=4, arguments=given)
    return wire.Replay(
        id=7,
        source=KERNEL,
        args=[wire.from_numpy(X)],
        launches=[launch],
        memories={"arg0": 40, "tmp1": 40},
        results=[pointer("tmp1")],
    )


def test_the_kernel_does_it_again(replayer: Replayer) -> None:
    answer = replayer.replay(order())
    assert isinstance(answer, wire.Returned)
    np.testing.assert_array_equal(wire.to_numpy(answer.value), X * 2)
    moved = {tensor.tensor: tensor for tensor in answer.traffic}
    assert moved["ret0"].covered == 1.0 and moved["arg0"].loaded_elements_max == 1
    assert answer.launch_count == 1 and answer.id == 7


def test_bf16(replayer: Replayer) -> None:
    bits = (X.view(np.uint32) >> 16).astype(np.uint16)
    changed = msgspec.structs.replace(
        order(x=pointer("arg0", "bf16"), out=pointer("tmp1", "bf16")),
        args=[wire.from_numpy(bits, "bf16")],
        results=[pointer("tmp1", "bf16")],
    )
    answer = replayer.replay(changed)
    assert isinstance(answer, wire.Returned)
    np.testing.assert_array_equal(wire.to_numpy(answer.value), ((X * 2).view(np.uint32) >> 16).astype(np.uint16))


def test_memory_that_nothing_wrote_holds_nan(replayer: Replayer) -> None:
    answer = replayer.replay(order(x=pointer("tmp1")))
    assert isinstance(answer, wire.Returned) and np.isnan(wire.to_numpy(answer.value)).all()


def test_a_fill_is_made_again(replayer: Replayer) -> None:
    made = order(x=pointer("tmp2"))
    fill = wire.Fill(memory="tmp2", value=np.float32(3).tobytes(), whole=True)
    launch = msgspec.structs.replace(made.launches[0], fills=[fill])
    answer = replayer.replay(msgspec.structs.replace(made, launches=[launch], memories={"tmp1": 40, "tmp2": 40}))
    assert isinstance(answer, wire.Returned)
    np.testing.assert_array_equal(wire.to_numpy(answer.value), np.full(10, 6, np.float32))


def test_a_fill_does_not_touch_arguments(replayer: Replayer) -> None:
    made = order()
    fill = wire.Fill(memory="arg0", value=np.float32(3).tobytes(), whole=True)
    launch = msgspec.structs.replace(made.launches[0], fills=[fill])
    answer = replayer.replay(msgspec.structs.replace(made, launches=[launch]))
    assert isinstance(answer, wire.Returned)
    np.testing.assert_array_equal(wire.to_numpy(answer.value), X * 2)


@pytest.mark.parametrize(
    "changes",
    [
        {"x": pointer("arg1")},
        {"x": pointer("arg0", offset=1)},
        {"x": pointer("arg0", shape=(1 << 50,))},
        {"x": pointer("arg0", strides=(-1,))},
        {"x": pointer("arg0", strides=())},
        {"x": pointer("arg0", "complex")},
        {"x": wire.Unnamed(type_name="a thing")},
        {"x": wire.Named(name="nobody", kind="function")},
        {"x": wire.Named(name="fp32", kind="dtype")},
        {"x": 5},
        {"BLOCK": 7},
        {"BLOCK": None},
        {"n": "ten"},
    ],
)
def test_nonsense_is_refused(replayer: Replayer, changes: dict[str, Any]) -> None:
    assert isinstance(replayer.replay(order(**changes)), wire.Failed)


@pytest.mark.parametrize(
    "changes",
    [
        {"memories": {"tmp1": 1 << 40}},
        {"memories": {"tmp1": -5}},
        {"memories": {}},
        {"source": "def double(x): pass"},
        {"source": "def other(x): pass"},
        {"source": "not python"},
        {"source": "(" * 60_000},
        {"results": [pointer("tmp9")]},
        {"results": [pointer("tmp1", "fp8e5")]},
        {"launches": []},
    ],
)
def test_forged_orders_are_refused_or_give_nothing(replayer: Replayer, changes: dict[str, Any]) -> None:
    answer = replayer.replay(msgspec.structs.replace(order(), **changes))
    if not isinstance(answer, wire.Failed):
        assert isinstance(answer, wire.Returned) and np.isnan(wire.to_numpy(answer.value)).all()


def test_constants_that_the_text_does_not_have(replayer: Replayer) -> None:
    source = KERNEL.replace("* SCALE, mask", "* FOUND, mask")
    made = msgspec.structs.replace(order(), source=source)
    assert isinstance(replayer.replay(made), wire.Failed)
    answer = replayer.replay(msgspec.structs.replace(made, globals={"FOUND": 3.0}))
    assert isinstance(answer, wire.Returned)
    np.testing.assert_array_equal(wire.to_numpy(answer.value), X * 3)
