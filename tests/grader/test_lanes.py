"""Triton kernels inside a real runner, in both interpreters: every door to memory is counted, undefined values
show, errors name lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from grader import wire
from grader.pool import Failure, FailureKind, Limits, Pool, Runner

pytestmark = pytest.mark.sandbox

KERNELS = '''\
import torch
import triton
import triton.language as tl


@triton.jit
def double(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0.0)
    tl.store(y_ptr + at, x * 2, mask=at < n)


def launch(x, y, block=16):
    double[(triton.cdiv(x.numel(), block),)](x, y, x.numel(), BLOCK=block, num_warps=2)
    return y


def plain(x):
    return launch(x, torch.empty_like(x))


def in_place(x):
    launch(x, x)


def overwritten(x):
    y = launch(x, torch.empty_like(x))
    y[:10] = (x * 2)[:10]
    y[0] = -1.0
    return y


def copied(x):
    """PyTorch computes, a kernel only carries."""
    return launch(x, torch.empty_like(x)) * 1.0


def carried(x):
    """PyTorch computes, a kernel copies: covered, but of foreign bytes."""
    return launch(x * 3, torch.empty_like(x))


def stashed_in_argument(x):
    x.copy_(x * 3)
    return launch(x, torch.empty_like(x))


def through_a_fill(x):
    y = torch.zeros_like(x)
    accumulate[(4,)](x, y, x.numel(), BLOCK=16)
    return y


@triton.jit
def accumulate(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(y_ptr + at, tl.load(x_ptr + at, mask=at < n), mask=at < n)


def swapped(x):
    bits = x.view(torch.int32)
    swap_int[(1,)](bits)


@triton.jit
def swap_int(x_ptr):
    tl.atomic_cas(x_ptr, 0, 5)


@triton.jit
def block_double(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    start = tl.program_id(0) * BLOCK
    x = tl.make_block_ptr(x_ptr, (n,), (1,), (start,), (BLOCK,), (0,))
    y = tl.make_block_ptr(y_ptr, (n,), (1,), (start,), (BLOCK,), (0,))
    tl.store(y, tl.load(x, boundary_check=(0,), padding_option="zero") * 2, boundary_check=(0,))


def block_pointers(x):
    y = torch.empty_like(x)
    block_double[(4,)](x, y, x.numel(), BLOCK=16)
    return y


@triton.jit
def described_double(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    x = tl.make_tensor_descriptor(x_ptr, (n,), (1,), (BLOCK,))
    y = tl.make_tensor_descriptor(y_ptr, (n,), (1,), (BLOCK,))
    start = tl.program_id(0) * BLOCK
    y.store([start], x.load([start]) * 2)


def descriptors(x):
    y = torch.empty_like(x)
    described_double[(4,)](x, y, x.numel(), BLOCK=16)
    return y


@triton.jit
def host_described(x, y, BLOCK: tl.constexpr):
    start = tl.program_id(0) * BLOCK
    y.store([start], x.load([start]) * 2)


def host_descriptors(x):
    from triton.tools.tensor_descriptor import TensorDescriptor

    y = torch.empty_like(x)
    host_described[(4,)](TensorDescriptor.from_tensor(x, [16]), TensorDescriptor.from_tensor(y, [16]), BLOCK=16)
    return y


@triton.jit
def unfilled(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n))


def masked_without_other(x):
    y = torch.zeros(16, dtype=x.dtype)
    unfilled[(1,)](x, y, 10, BLOCK=16)
    return y


@triton.jit
def past(x_ptr, y_ptr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at)
    tl.store(y_ptr + at, x)


def past_the_end(x):
    past[(4,)](x, torch.empty(64), BLOCK=16)


def store_past_the_end(x):
    past[(3,)](x, torch.empty(40), BLOCK=16)


@triton.jit
def indirect(table_ptr, y_ptr, BLOCK: tl.constexpr):
    x_ptr = tl.load(table_ptr).to(tl.pointer_type(tl.float32))
    at = tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at) * 2)


def pointer_table(x):
    y = torch.empty(16)
    hidden = x * 1
    indirect[(1,)](torch.tensor([hidden.data_ptr()]), y, BLOCK=16)
    return y


@triton.jit
def broken(x_ptr, BLOCK: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, BLOCK))
    y = helper(x)
    tl.store(x_ptr + tl.arange(0, BLOCK), y)


@triton.jit
def helper(x):
    return x + no_such_name


def kernel_error(x):
    broken[(1,)](x, BLOCK=16)


def many(x):
    for _ in range(300):
        double[(1,)](x, x, 1, BLOCK=1)


def undefined_and_failed(x):
    masked_without_other(x)
    raise ValueError


def nothing(x):
    return x
'''
NAMES = re.findall(r"^def (\w+)\(x\):", KERNELS.replace("@triton.jit\ndef helper", ""), re.MULTILINE)
X = np.arange(50, dtype=np.float32)


@pytest.fixture(scope="module", params=["batched", "stock"])
def lane(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def runner(lane: str) -> Iterator[Runner]:
    """One runner for the whole file and lane: what one call leaves behind must not show in the next."""
    limits = Limits(memory_bytes=1 << 30, files_bytes=8 << 20, processes=32)
    with Pool(limits=limits, stock=lane == "stock") as pool, pool.take() as made:
        assert isinstance(made.load(wire.Load(source=KERNELS, entries=NAMES)), wire.Loaded)
        yield made


def run(
    runner: Runner, entry: str, x: np.ndarray[Any, Any] = X, dtype: str | None = None
) -> wire.Returned | Failure:
    return runner.call(wire.Call(id=3, entry=entry, args=[wire.from_numpy(x, dtype)], return_args=[0]), 30)


def good(answer: wire.Returned | Failure) -> wire.Returned:
    assert isinstance(answer, wire.Returned), answer
    return answer


def rows(answer: wire.Returned) -> dict[str, wire.Moved]:
    return {row.tensor: row for row in answer.traffic}


@pytest.mark.parametrize("entry", ["plain", "block_pointers", "descriptors", "host_descriptors"])
def test_every_door_is_counted(runner: Runner, entry: str) -> None:
    answer = good(run(runner, entry))
    np.testing.assert_array_equal(wire.to_numpy(answer.value), X * 2)
    assert rows(answer) == {
        "arg0": wire.Moved(tensor="arg0", loaded_bytes=200, loaded_elements_max=1, nbytes=200),
        "ret0": wire.Moved(tensor="ret0", stored_bytes=200, stored_elements_max=1, covered=1.0, nbytes=200),
    }
    assert answer.launch_count == 1
    assert answer.launches[0].grid == (4, 1, 1)
    assert answer.launches[0].constants == {"BLOCK": 16}


def test_launches_say_what_was_launched(runner: Runner) -> None:
    launch = good(run(runner, "plain")).launches[0]
    assert (launch.kernel, launch.grid, launch.num_warps) == ("double", (4, 1, 1), 2)
    answer = good(run(runner, "many"))
    assert answer.launch_count == 300 and len(answer.launches) == 200


def test_findings_travel_with_answers_and_failures(runner: Runner, lane: str) -> None:
    entries = ("plain", "masked_without_other", "undefined_and_failed")
    quiet, noisy, failing = (run(runner, entry) for entry in entries)
    assert good(quiet).findings == []
    if lane == "stock":
        return  # it sees none
    line = next(n for n, text in enumerate(KERNELS.splitlines(), 1) if "tl.load(x_ptr + at, mask=at < n))" in text)
    for answer in (good(noisy), failing):
        (finding,) = answer.findings
        assert (finding.kind, finding.line, finding.severity) == ("undefined-lane", line, "error")
    assert isinstance(failing, Failure) and failing.kind is FailureKind.RAISED
    assert good(run(runner, "plain")).findings == []


def test_atomics_load_and_store(runner: Runner) -> None:
    answer = good(run(runner, "through_a_fill"))
    np.testing.assert_array_equal(wire.to_numpy(answer.value), X)
    row = rows(answer)["ret0"]
    assert (row.loaded_bytes, row.stored_bytes, row.covered, row.foreign_bytes) == (200, 200, 1.0, 0)
    answer = good(run(runner, "swapped"))
    assert rows(answer)["arg0"].stored_elements_max == 1
    assert np.frombuffer(answer.args[0].storage, dtype=np.int32)[0] == 5


def test_in_place(runner: Runner) -> None:
    answer = good(run(runner, "in_place"))
    assert answer.value is None
    row = rows(answer)["arg0"]
    assert (row.loaded_bytes, row.stored_bytes, row.covered) == (200, 200, 1.0)
    np.testing.assert_array_equal(wire.to_numpy(answer.args[0]), X * 2)


def test_provenance(runner: Runner) -> None:
    assert rows(good(run(runner, "overwritten")))["ret0"].covered == pytest.approx(0.98)
    assert rows(good(run(runner, "copied")))["ret0"].covered == 0.0
    assert rows(good(run(runner, "nothing")))["ret0"].covered == 0.0
    carried = rows(good(run(runner, "carried")))
    assert carried["ret0"].covered == 1.0
    assert sum(row.foreign_bytes for row in carried.values()) == 200
    assert rows(good(run(runner, "stashed_in_argument")))["arg0"].foreign_bytes == 196  # 0 × 3 is still 0


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_masked_lanes_without_other_are_nan(runner: Runner, dtype: str) -> None:
    got = wire.to_numpy(good(run(runner, "masked_without_other", X.astype(dtype))).value)
    np.testing.assert_array_equal(got[:10], X[:10].astype(dtype))
    assert np.isnan(got[10:]).all()


def test_masked_lanes_without_other_in_integers_and_bf16(runner: Runner) -> None:
    got = wire.to_numpy(good(run(runner, "masked_without_other", np.arange(16, dtype=np.int32))).value)
    assert (got[10:] == np.iinfo(np.int32).max).all()
    bits = wire.to_numpy(good(run(runner, "masked_without_other", np.zeros(16, np.uint16), "bf16")).value)
    assert ((bits[10:] & 0x7FFF) > 0x7F80).all()


def test_out_of_bounds_names_tensor_element_and_line(runner: Runner) -> None:
    failure = run(runner, "past_the_end")
    assert isinstance(failure, Failure) and failure.kind is FailureKind.RAISED
    assert re.search("load.* element 50 of `?x_ptr", failure.message)
    assert failure.line is not None and "tl.load(x_ptr + at)" in KERNELS.splitlines()[failure.line - 1]
    assert "past[(4,)]" in failure.traceback
    failure = run(runner, "store_past_the_end")
    assert isinstance(failure, Failure) and re.search("store.* element 40 of `?y_ptr", failure.message)


def test_pointers_that_travel_as_integers(runner: Runner, lane: str) -> None:
    answer = good(run(runner, "pointer_table"))
    np.testing.assert_array_equal(wire.to_numpy(answer.value), X[:16] * 2)
    # The batched lane knows a pointer in a tensor for what it is; to the other it is a number from elsewhere.
    assert sum(row.foreign_bytes for row in answer.traffic) >= (60 if lane == "stock" else 0)


def test_an_error_in_a_device_function_names_its_line(runner: Runner, lane: str) -> None:
    failure = run(runner, "kernel_error")
    assert isinstance(failure, Failure) and "'no_such_name' is not defined" in failure.message
    # What a compiler would have refused is a compile error, though the launch is where it shows.
    assert failure.kind is (FailureKind.COMPILE_ERROR if lane == "batched" else FailureKind.RAISED)
    assert failure.line == KERNELS.splitlines().index("    return x + no_such_name") + 1
    assert failure.traceback.splitlines()[0].endswith("in kernel_error")
