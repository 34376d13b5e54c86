"""Each finding: one kernel that shows it, with line, tensor, element, program and lane, and a near miss."""

from __future__ import annotations

import traceback

import numpy as np
import pytest
import torch

from grader import interpreter
from grader.interpreter.memory import watch
from tests.grader.interpreter.refusals import ACCEPTED, REFUSED, SIGNATURE
from tests.grader.interpreter.running import kinds, launch, module, only

COPY = """
@triton.jit
def kernel(x, y, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + at{load})
    tl.store(y + at, v, mask=at < n)
"""


# Out of bounds


def test_load_past_the_storage_is_a_fault_with_element_program_and_lane() -> None:
    x, y = torch.randn(1000), torch.zeros(1000)
    with pytest.raises(
        interpreter.Fault, match=r"element 1000 of x .*program \(3, 0, 0\), lane \(232,\)"
    ) as caught:
        launch(COPY.format(load=""), (4,), x, y, 1000, B=256)
    assert caught.value.line == 4
    assert "24 lanes of 1 program" in str(caught.value)


def test_masked_tail_is_no_fault() -> None:
    x, y = torch.randn(1000), torch.zeros(1000)
    record = launch(COPY.format(load=", mask=at < n"), (4,), x, y, 1000, B=256)
    assert kinds(record) == []
    assert torch.equal(x, y)


def test_store_past_the_storage_writes_nothing() -> None:
    x, y = torch.randn(1024), torch.zeros(1000)
    source = COPY.format(load="").replace("mask=at < n", "mask=at < n + 24")
    with pytest.raises(interpreter.Fault, match="store outside the memory of the tensor: element 1000 of y"):
        launch(source, (4,), x, y, 1000, B=256)
    assert not y.any()


def test_negative_index_is_a_fault() -> None:
    with pytest.raises(interpreter.Fault, match=r"element -1 of x .*program \(0, 0, 0\), lane \(0,\)"):
        launch(COPY.format(load=" - 1"), (2,), torch.randn(8), torch.zeros(8), 8, B=4)


def test_past_the_view_but_inside_the_storage_is_a_warning() -> None:
    storage = torch.arange(64, dtype=torch.float32)
    record = launch(COPY.format(load=""), (1,), storage[8:24], torch.zeros(32), 32, B=32)
    finding = only(record)
    assert (finding.kind, finding.severity, finding.line) == ("outside-view", "warning", 4)
    assert (finding.tensor, finding.program, finding.lane) == ("x", (0, 0, 0), (16,))


def test_a_strided_view_used_within_its_extent_is_no_warning() -> None:
    storage = torch.arange(64, dtype=torch.float32)
    assert kinds(launch(COPY.format(load=" * 2"), (1,), storage[1:33:2], torch.zeros(16), 16, B=16)) == []


@pytest.mark.parametrize("rows", [10, 12])
def test_rows_not_masked_in_a_tile(rows: int) -> None:
    source = """
    @triton.jit
    def kernel(x, y, stride, n, B: tl.constexpr):
        r = tl.program_id(0) * 4 + tl.arange(0, 4)
        c = tl.arange(0, B)
        v = tl.load(x + r[:, None] * stride + c[None, :], mask=c[None, :] < n, other=0.0)
        tl.store(y + r, tl.sum(v, axis=1), mask=r < 10)
    """
    if rows == 12:
        assert kinds(launch(source, (3,), torch.randn(12, 100), torch.zeros(12), 100, 100, B=128)) == []
        return
    with pytest.raises(interpreter.Fault, match=r"element 1000 of x .*program \(2, 0, 0\), lane \(2, 0\)"):
        launch(source, (3,), torch.randn(10, 100), torch.zeros(10), 100, 100, B=128)


def test_atomic_out_of_bounds() -> None:
    source = """
    @triton.jit
    def kernel(x, B: tl.constexpr):
        tl.atomic_add(x + tl.arange(0, B), 1.0)
    """
    with pytest.raises(interpreter.Fault, match="atomic outside the memory of the tensor: element 12 of x"):
        launch(source, (1,), torch.zeros(12), B=16)
    assert kinds(launch(source, (2,), torch.zeros(16), B=16)) == []


# Memory that nobody wrote, lanes that hold nothing


def test_uninitialised_read() -> None:
    source = """
    @triton.jit
    def kernel(y, x, B: tl.constexpr):
        at = tl.arange(0, B)
        tl.store(y + at, tl.load(y + at) + tl.load(x + at))
    """
    record = interpreter.Recorder()
    y, x = torch.full((8,), float("nan")), torch.randn(8)
    y[:3] = 1.0
    found = module(source).kernel
    interpreter.configure(recorder=record)
    try:
        found[(1,)](x, x, B=8)  # so that the storages are known
        view = interpreter.memory.view_of("y", y, record.storages)
        watch(view.storage, np.float32(np.nan))
        found[(1,)](y, x, B=8)
    finally:
        interpreter.configure()
    finding = only(record)
    assert (finding.kind, finding.line, finding.element) == ("uninitialised-read", 4, "y[3]")


REDUCE = """
@triton.jit
def kernel(x, y, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + at, mask=at < n{other})
    {step}
    tl.store(y + tl.program_id(0), tl.{reduction}(v, axis=0))
"""


@pytest.mark.parametrize("reduction", ["sum", "max", "min"])
def test_undefined_lanes_reduced(reduction: str) -> None:
    source = REDUCE.format(other="", step="pass", reduction=reduction)
    y = torch.zeros(4)
    record = launch(source, (4,), torch.randn(1000), y, 1000, B=256)
    finding = only(record)
    assert (finding.kind, finding.line) == ("undefined-lane", 6)
    assert (finding.program, finding.lane) == ((3, 0, 0), (232,))
    assert "masked load of line 4" in finding.message
    assert y[:3].isfinite().all()
    assert y[3].isnan()


@pytest.mark.parametrize(
    ("other", "step"),
    [(", other=0.0", "pass"), ("", "v = tl.where(at < n, v, 0.0)"), ("", "v = tl.where(at >= n, 0.0, v * 2 + 1)")],
)
def test_lanes_filled_or_masked_out_are_fine(other: str, step: str) -> None:
    y = torch.zeros(4)
    record = launch(REDUCE.format(other=other, step=step, reduction="sum"), (4,), torch.randn(1000), y, 1000, B=256)
    assert kinds(record) == []
    assert y.isfinite().all()


def test_undefined_lanes_stored_and_not_stored() -> None:
    source = COPY.format(load=", mask=at < n - 1")
    finding = only(launch(source, (4,), torch.randn(1000), torch.zeros(1000), 1000, B=256))
    assert (finding.kind, finding.line, finding.lane) == ("undefined-lane", 5, (231,))
    assert finding.message.startswith("tl.store uses lanes")


def test_undefined_lane_as_an_address_only_where_it_is_active() -> None:
    source = """
    @triton.jit
    def kernel(x, i, y, n, B: tl.constexpr):
        at = tl.arange(0, B)
        where = tl.load(i + at, mask=at < n)
        tl.store(y + at, tl.load(x + where, mask=at < n{more}, other=0.0), mask=at < n)
    """
    given = torch.randn(100), torch.randint(0, 100, (64,)), torch.zeros(64)
    assert kinds(launch(source.format(more=""), (1,), *given, 50, B=64)) == []
    with pytest.raises(interpreter.Fault, match="load outside the memory"):
        launch(source.format(more=" + 1"), (1,), *given, 50, B=64)


def test_undefined_operand_of_a_dot() -> None:
    source = """
    @triton.jit
    def kernel(x, y, n, B: tl.constexpr):
        i = tl.arange(0, B)
        v = tl.load(x + i[:, None] * B + i[None, :], mask=i[None, :] < n{other})
        tl.store(y + i[:, None] * B + i[None, :], tl.dot(v, v))
    """
    y = torch.zeros(16, 16)
    assert kinds(launch(source.format(other=""), (1,), torch.randn(16, 16), y, 15, B=16)) == ["undefined-lane"]
    assert y.isnan().all()
    assert kinds(launch(source.format(other=", other=0.0"), (1,), torch.randn(16, 16), y, 15, B=16)) == []


def test_undefined_condition() -> None:
    source = """
    @triton.jit
    def kernel(x, y):
        p = tl.program_id(0)
        v = tl.load(x + p, mask=p > 0)
        if v > 0:
            tl.store(y + p, v)
    """
    finding = only(launch(source, (3,), torch.ones(3), torch.zeros(3)))
    assert (finding.kind, finding.line, finding.program) == ("undefined-lane", 5, (0, 0, 0))


# Integers


def test_integer_wrap_says_the_exact_value() -> None:
    source = """
    @triton.jit
    def kernel(y, stride):
        row = tl.program_id(0) * 1000
        tl.store(y + tl.program_id(0), row * stride)
    """
    y = torch.zeros(5, dtype=torch.int32)
    finding = only(launch(source, (5,), y, 3_000_000))
    assert (finding.kind, finding.line, finding.program) == ("integer-wrap", 4, (1, 0, 0))
    assert "3000000000" in finding.message
    assert y.tolist() == [(i * 3_000_000_000 + 2**31) % 2**32 - 2**31 for i in range(5)]
    assert (
        kinds(launch(source.replace("* 1000", ".to(tl.int64) * 1000"), (5,), torch.zeros(5).long(), 3_000_000))
        == []
    )


def test_offset_that_wraps_in_a_lazy_sum() -> None:
    source = """
    @triton.jit
    def kernel(x, y, stride, B: tl.constexpr):
        r = tl.arange(0, 4)[:, None]{wide} * stride
        c = tl.arange(0, B)[None, :]
        tl.store(y + c, tl.sum(((r + c) % 7).to(tl.float32), axis=0)[None, :])
    """
    given = torch.zeros(8), torch.zeros(8), 715_827_881
    assert kinds(launch(source.format(wide=""), (1,), *given, B=8)) == ["integer-wrap"]
    assert kinds(launch(source.format(wide=".to(tl.int64)"), (1,), *given, B=8)) == []


@pytest.mark.parametrize(("count", "expected"), [(2**27, ["integer-wrap"]), (2**26, [])])
def test_sum_that_wraps(count: int, expected: list[str]) -> None:
    source = """
    @triton.jit
    def kernel(x, y, B: tl.constexpr):
        tl.store(y, tl.sum(tl.load(x + tl.arange(0, B)), axis=0))
    """
    x = torch.full((16,), count, dtype=torch.int32)
    assert kinds(launch(source, (1,), x, torch.zeros(1, dtype=torch.int32), B=16)) == expected


def test_unsigned_wrap_is_meant() -> None:
    source = """
    @triton.jit
    def kernel(y):
        h = tl.program_id(0).to(tl.uint32) * 2654435761 + 4000000000
        tl.store(y + tl.program_id(0), (h >> 16).to(tl.int32))
    """
    y = torch.zeros(4, dtype=torch.int32)
    assert kinds(launch(source, (4,), y)) == []
    assert y.tolist() == [((i * 2654435761 + 4000000000) % 2**32) >> 16 for i in range(4)]


# Races


def test_write_write() -> None:
    source = """
    @triton.jit
    def kernel(x, y, n, B: tl.constexpr):
        at = tl.program_id(0) * (B - 1) + tl.arange(0, B)
        tl.store(y + at, tl.load(x + at, mask=at < n, other=0.0) + tl.program_id(0), mask=at < n)
    """
    finding = only(launch(source, (4,), torch.randn(900), torch.zeros(900), 900, B=256))
    assert (finding.kind, finding.line, finding.tensor, finding.element) == ("write-write", 4, "y", "y[255]")
    assert "(1, 0, 0)" in finding.message
    assert "(0, 0, 0)" in finding.message


def test_the_same_value_from_two_programs_is_let_pass() -> None:
    source = """
    @triton.jit
    def kernel(x, y, n, B: tl.constexpr):
        at = tl.program_id(0) * (B - 1) + tl.arange(0, B)
        tl.store(y + at, tl.load(x + at, mask=at < n, other=0.0), mask=at < n)
    """
    assert kinds(launch(source, (4,), torch.randn(900), torch.zeros(900), 900, B=256)) == []


def test_lost_update() -> None:
    source = """
    @triton.jit
    def kernel(x, y, B: tl.constexpr):
        at = tl.program_id(0) * B + tl.arange(0, B)
        tl.store(y, tl.load(y) + tl.sum(tl.load(x + at), axis=0))
    """
    found = kinds(launch(source, (4,), torch.randn(1024), torch.zeros(1), B=256))
    assert "write-write" in found
    atomic = source.replace("tl.store(y, tl.load(y) + ", "tl.atomic_add(y, ")
    assert kinds(launch(atomic, (4,), torch.randn(1024), torch.zeros(1), B=256)) == []


STENCIL = """
@triton.jit
def kernel(x, y, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + at - 1, mask=(at > 0) & (at < n), other=0.0) + tl.load(x + at, mask=at < n, other=0.0)
    tl.store(y + at, v, mask=at < n)
"""


@pytest.mark.parametrize("chunk", [1, 2, None])
def test_stencil_in_place_reads_what_others_write(chunk: int | None) -> None:
    x = torch.randn(1000)
    record = launch(STENCIL, (4,), x, x, 1000, B=256, options=interpreter.Options(chunk=chunk))
    expected = ["write-after-read"] if chunk is None else ["read-after-write"] if chunk == 1 else None
    assert kinds(record) == (expected or ["read-after-write", "write-after-read"])
    assert {finding.line for finding in record.findings.values()} <= {4, 5}


def test_stencil_into_another_tensor_is_no_race() -> None:
    assert kinds(launch(STENCIL, (4,), torch.randn(1000), torch.zeros(1000), 1000, B=256)) == []


@pytest.mark.parametrize("chunk", [1, 3, None])
def test_in_place_on_own_elements_is_no_race(chunk: int | None) -> None:
    source = """
    @triton.jit
    def kernel(x, n, B: tl.constexpr):
        at = tl.program_id(0) * B + tl.arange(0, B)
        for _ in range(3):
            tl.store(x + at, tl.load(x + at, mask=at < n, other=0.0) * 2, mask=at < n)
    """
    assert (
        kinds(launch(source, (4,), torch.randn(1000), 1000, B=256, options=interpreter.Options(chunk=chunk))) == []
    )


# What the compiler refuses


@pytest.mark.parametrize(("body", "match", "line"), REFUSED)
def test_refused(body: str, match: str, line: int) -> None:
    with pytest.raises(interpreter.KernelError, match=match) as caught:
        launch(SIGNATURE + body, (4,), torch.zeros(256), 8)
    assert caught.value.refused
    assert caught.value.line == line
    last = traceback.extract_tb(caught.value.__traceback__)[-1]
    assert (last.lineno, last.name) == (line, "kernel")
    assert last.filename.startswith("kernel_file_")


@pytest.mark.parametrize("body", ACCEPTED)
def test_accepted(body: str) -> None:
    launch(SIGNATURE + body, (4,), torch.zeros(256), 8)


def test_global_variables_must_be_constexpr() -> None:
    source = "N = {value}\n@triton.jit\ndef kernel(x):\n    tl.store(x, N)\n"
    with pytest.raises(interpreter.Rejected, match="'N' is a global variable"):
        launch(source.format(value="4.0"), (1,), torch.zeros(1))
    x = torch.zeros(1)
    launch(source.format(value="tl.constexpr(4.0)"), (1,), x)
    assert x.item() == 4.0


def test_division_by_zero() -> None:
    source = "@triton.jit\ndef kernel(x, n):\n    tl.store(x, 7 {} n)\n"
    for operator in ("//", "%"):
        with pytest.raises(interpreter.Fault, match="division by zero"):
            launch(source.format(operator), (1,), torch.zeros(1, dtype=torch.int32), 0)


def test_an_error_in_a_device_function_shows_both_lines() -> None:
    source = """
    @triton.jit
    def inner(x, i):
        return tl.load(x + i)

    @triton.jit
    def kernel(x, y):
        v = inner(x, 99)
        tl.store(y, v)
    """
    with pytest.raises(interpreter.Fault) as caught:
        launch(source, (1,), torch.zeros(8), torch.zeros(8))
    lines = [(frame.name, frame.lineno) for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert lines[-2:] == [("kernel", 7), ("inner", 3)]
