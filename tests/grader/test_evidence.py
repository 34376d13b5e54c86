"""Counting of bytes and elements, and who wrote what, on memory that the test owns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from grader import wire
from grader.evidence import KEPT_LAUNCHES, OutOfBounds, Recorder, View


def view(array: NDArray[Any]) -> View:
    base = array if array.base is None else array.base
    assert isinstance(base, np.ndarray)
    strides = tuple(s // array.itemsize for s in array.strides)
    offset = (array.ctypes.data - base.ctypes.data) // array.itemsize
    return View(base.ctypes.data, base.nbytes, array.itemsize, array.shape, strides, offset)


def pointers(array: NDArray[Any], elements: list[int]) -> NDArray[np.uint64]:
    return (array.ctypes.data + np.array(elements) * array.itemsize).astype(np.uint64)


def load(recorder: Recorder, array: NDArray[Any], elements: list[int]) -> None:
    itemsize = array.itemsize
    recorder.loaded(recorder.check(pointers(array, elements), itemsize, "reads"), itemsize)


def store(recorder: Recorder, array: NDArray[Any], elements: list[int], value: float) -> None:
    touched = recorder.check(pointers(array, elements), array.itemsize, "writes")
    array[elements] = value
    recorder.stored(touched, array.itemsize)


def begun(*arrays: NDArray[Any]) -> Recorder:
    recorder = Recorder()
    recorder.begin([view(a) for a in arrays], [a.tobytes() for a in arrays])
    return recorder


def moved(recorder: Recorder, *returned: View) -> dict[str, wire.Moved]:
    return {row.tensor: row for row in recorder.finish(list(returned))[2]}


def test_bytes_and_the_busiest_element() -> None:
    x = np.arange(8, dtype=np.float32)
    recorder = begun(x)
    load(recorder, x, [0, 1, 2, 3])
    load(recorder, x, [3, 4])
    store(recorder, x, [7], 1.0)
    row = moved(recorder)["arg0"]
    assert (row.loaded_bytes, row.stored_bytes) == (24, 4)
    assert (row.loaded_elements_max, row.stored_elements_max) == (2, 1)
    assert row.covered == 1 / 8
    assert row.foreign_bytes == 0


def test_one_instruction_touches_an_element_once() -> None:
    x = np.zeros(4, dtype=np.float16)
    recorder = begun(x)
    load(recorder, x, [1, 1, 1])
    row = moved(recorder)["arg0"]
    assert (row.loaded_bytes, row.loaded_elements_max) == (6, 1)


def test_a_result_is_covered_only_where_a_kernel_stored_and_nobody_changed_it_since() -> None:
    y = np.full(10, np.nan, dtype=np.float32)
    recorder = Recorder()
    recorder.begin([])
    recorder.uses(view(y), y)
    store(recorder, y, list(range(8)), 2.0)
    y[0] = 5.0  # by somebody else
    row = moved(recorder, view(y))["ret0"]
    assert row.covered == pytest.approx(0.7)
    assert row.stored_bytes == 32


def test_coverage_is_that_of_the_returned_view() -> None:
    whole = np.zeros(12, dtype=np.float32)
    recorder = begun(whole)
    store(recorder, whole, [2, 3, 6, 7], 1.0)
    part = whole[2:10].reshape(2, 4)[:, :2]
    assert moved(recorder, view(part))["ret0"].covered == 1.0


def test_a_returned_argument_has_both_rows_and_a_stranger_has_no_coverage() -> None:
    x, stranger = np.zeros(4, dtype=np.float32), np.zeros(4, dtype=np.float32)
    recorder = begun(x)
    store(recorder, x, [0, 1, 2, 3], 1.0)
    rows = moved(recorder, view(x), view(stranger))
    assert rows["ret0"].covered == rows["arg0"].covered == 1.0
    assert rows["ret1"].covered == 0.0


def test_loads_of_what_no_kernel_and_no_judge_wrote_are_foreign() -> None:
    x = np.arange(4, dtype=np.float32)
    made_elsewhere = np.arange(4, dtype=np.float32)
    recorder = begun(x)
    recorder.uses(view(made_elsewhere), made_elsewhere)
    load(recorder, x, [0, 1])
    load(recorder, made_elsewhere, [0])
    load(recorder, made_elsewhere, [1])
    x[3] = 7.0
    load(recorder, x, [3])
    rows = moved(recorder)
    assert rows["tmp1"].foreign_bytes == 8
    assert rows["arg0"].foreign_bytes == 0  # a single value: could be a fill
    assert rows["arg0"].loaded_bytes == 12


def test_a_fill_with_one_constant_is_not_foreign_and_neither_is_what_a_kernel_stored() -> None:
    zeros = np.zeros(4, dtype=np.float32)
    recorder = Recorder()
    recorder.begin([])
    recorder.uses(view(zeros), zeros)
    load(recorder, zeros, [0, 1, 2, 3])
    store(recorder, zeros, [0], 3.0)
    load(recorder, zeros, [0])
    assert moved(recorder)["tmp0"].foreign_bytes == 0


@pytest.mark.parametrize("element", [8, -1, 1 << 40, -(1 << 40)])
def test_outside_every_tensor_is_an_error_that_names_the_nearest(element: int) -> None:
    x = np.zeros(8, dtype=np.float32)
    recorder = begun(x)
    recorder.uses(view(x), x, "x_ptr")
    with pytest.raises(OutOfBounds, match=rf"element {element:,} of `x_ptr`, whose memory has 8 elements"):
        load(recorder, x, [0, element])


def test_one_tile_may_reach_into_two_tensors() -> None:
    whole = np.zeros(16, dtype=np.float32)
    left = View(whole.ctypes.data, 32, 4, (8,), (1,), 0)
    right = View(whole.ctypes.data + 32, 32, 4, (8,), (1,), 0)
    recorder = Recorder()
    recorder.begin([left, right], [bytes(32), bytes(32)])
    load(recorder, whole, [6, 7, 8, 9, 10])
    rows = moved(recorder)
    assert (rows["arg0"].loaded_bytes, rows["arg1"].loaded_bytes) == (8, 12)


def test_a_lane_can_find_a_tensor_that_no_kernel_was_given() -> None:
    hidden = np.zeros(4, dtype=np.float32)
    recorder = Recorder()
    recorder.discover = lambda address: (view(hidden), hidden)
    load(recorder, hidden, [1])
    assert moved(recorder)["tmp0"].loaded_bytes == 4


def test_unaligned_and_reinterpreted_elements() -> None:
    x = np.zeros(16, dtype=np.uint8)
    recorder = begun(x)
    odd = np.array([x.ctypes.data + 3], dtype=np.uint64)
    touched = recorder.check(odd, 4, "writes")
    x[3:7] = [1, 2, 3, 4]
    recorder.stored(touched, 4)
    recorder.loaded(recorder.check(odd, 4, "reads"), 4)
    row = moved(recorder)["arg0"]
    assert row.covered == 4 / 16
    assert (row.loaded_bytes, row.stored_bytes, row.foreign_bytes) == (4, 4, 0)


def test_launches_are_counted_beyond_those_kept() -> None:
    recorder = Recorder()
    for _ in range(KEPT_LAUNCHES + 5):
        recorder.launched(wire.Launch(kernel="k", grid=(1,), constants={}, num_warps=4))
    launches, count, _ = recorder.finish([])
    assert (len(launches), count) == (KEPT_LAUNCHES, KEPT_LAUNCHES + 5)
    assert recorder.finish([]) == ([], 0, [])


def test_empty_tensors() -> None:
    nothing = np.zeros(0, dtype=np.float32)
    recorder = begun(nothing)
    assert recorder.check(np.zeros(0, dtype=np.uint64), 4, "reads") == []
    assert moved(recorder)["arg0"].covered == 1.0


@pytest.mark.parametrize("itemsize", [2, 4])
def test_a_launch_counted_at_once_gives_what_its_instructions_give(itemsize: int) -> None:
    """A lane may report each instruction, or a launch when it ends; the tensor's own elements are of four bytes."""
    loads, stores = np.zeros(32 // itemsize, np.int64), np.zeros(32 // itemsize, np.int64)
    loads[[0, 1, 3]], stores[[2, 3]] = [2, 1, 1], [1, 3]
    rows = []
    for at_once in (False, True):
        x = np.arange(8, dtype=np.float32)
        recorder = begun(x)
        x[:2] += 1  # by somebody else: foreign from here
        elements = x.view(f"u{itemsize}")
        region = recorder.region(x.ctypes.data)
        assert region is not None
        if at_once:
            foreign = region.foreign()
            elements[[2, 3]] = 7
            region.count(loads, stores, itemsize, foreign)
        else:
            for element, times in enumerate(loads.tolist()):
                for _ in range(times):
                    load(recorder, elements, [element])
            for element, times in enumerate(stores.tolist()):
                for _ in range(times):
                    store(recorder, elements, [element], 7)
        rows.append(moved(recorder)["arg0"])
    each, whole = rows
    assert (each.loaded_bytes, each.stored_bytes, each.covered) == (
        whole.loaded_bytes,
        whole.stored_bytes,
        whole.covered,
    )
    if itemsize == 4:
        assert each == whole
