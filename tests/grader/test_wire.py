"""Frames survive the trip; anything else is `Malformed`, and nothing but `Malformed`."""

from __future__ import annotations

import contextlib
import math
import tracemalloc
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from grader import bounded, wire

DTYPES = {name: kind for name, kind in wire.NUMPY_TYPES.items() if name != "bf16"}

arrays = st.sampled_from(sorted(DTYPES)).flatmap(
    lambda name: hnp.arrays(DTYPES[name], hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4))
)
scalars = st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False) | st.text()
values: st.SearchStrategy[Any] = st.recursive(
    scalars | arrays.map(wire.from_numpy),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text().filter(lambda k: k != wire.TAG), inner),
    max_leaves=12,
)


def only_payload(data: bytes, limit: int = 1 << 20) -> bytes:
    (payload,) = wire.Frames(limit).feed(data)
    return payload


def returned(**changes: Any) -> bytes:
    """The payload of an answer as a runner might write it, whether or not it is one."""
    return msgspec.msgpack.encode({wire.TAG: "returned", "id": 1, "value": None} | changes)


def array(**changes: Any) -> dict[str, Any]:
    good = {"dtype": "fp32", "shape": [2], "strides": [1], "offset": 0, "storage": bytes(8)}
    return {wire.TAG: "array"} | good | changes


@given(values)
def test_values_come_back_as_they_were(value: Any) -> None:
    call = wire.Call(id=1, entry="f", args=[value], return_args=[0])
    assert wire.decode_order(only_payload(wire.frame(call))) == call
    answer = wire.Returned(id=1, value=value)
    assert wire.decode_answer(only_payload(wire.frame(answer))) == answer


@given(arrays)
def test_arrays_keep_every_bit(made: np.ndarray[Any, Any]) -> None:
    back = wire.to_numpy(wire.from_numpy(made))
    assert back.dtype == made.dtype and back.shape == made.shape
    assert back.tobytes() == made.tobytes()
    assert not back.flags.writeable


def test_views_show_the_right_elements() -> None:
    storage = np.arange(24, dtype=np.float32)
    transposed = wire.Array(dtype="fp32", shape=(4, 3), strides=(1, 4), offset=8, storage=storage.tobytes())
    np.testing.assert_array_equal(wire.to_numpy(transposed), storage[8:20].reshape(3, 4).T)
    expanded = wire.Array(dtype="fp32", shape=(5, 2), strides=(0, 1), offset=3, storage=storage.tobytes())
    np.testing.assert_array_equal(wire.to_numpy(expanded), [[3, 4]] * 5)


def test_bf16_travels_as_its_bits() -> None:
    bits = np.array([0x3F80, 0x7FC0], dtype=np.uint16)
    sent = wire.from_numpy(bits, "bf16")
    assert sent.dtype == "bf16"
    np.testing.assert_array_equal(wire.to_numpy(sent), bits)
    with pytest.raises(TypeError):
        wire.from_numpy(bits)
    with pytest.raises(TypeError):
        wire.from_numpy(np.zeros(1, np.complex64))


@given(st.lists(st.binary(max_size=40), max_size=5), st.integers(1, 7))
def test_frames_do_not_depend_on_how_they_are_cut(payloads: list[bytes], step: int) -> None:
    stream = b"".join(len(p).to_bytes(4, "big") + p for p in payloads)
    frames = wire.Frames(40)
    got = [p for at in range(0, len(stream), step) for p in frames.feed(stream[at : at + step])]
    assert got == payloads
    assert frames.empty


def test_a_length_over_the_limit_is_refused_before_its_bytes_come() -> None:
    with pytest.raises(wire.Malformed):
        list(wire.Frames(10).feed(b"\x00\x00\x00\x0b"))


@given(st.binary(max_size=300))
def test_noise_is_malformed_and_nothing_else(noise: bytes) -> None:
    for decode in (wire.decode_answer, wire.decode_order):
        with contextlib.suppress(wire.Malformed):
            decode(noise)


@given(st.data())
def test_a_damaged_answer_is_malformed_or_an_answer(data: st.DataObject) -> None:
    payload = bytearray(returned(value=[array(), {"a": 1.5}], args={0: array()}, args_digest=["x"]))
    for _ in range(data.draw(st.integers(1, 4))):
        payload[data.draw(st.integers(0, len(payload) - 1))] = data.draw(st.integers(0, 255))
    try:
        answer = wire.decode_answer(bytes(payload))
    except wire.Malformed:
        return
    if isinstance(answer, wire.Returned):
        for found in (*answer.args.values(), *wire.arrays_in(answer.value)):
            assert wire.to_numpy(found).nbytes <= len(found.storage)


@pytest.mark.parametrize(
    "bad",
    [
        {"dtype": "fp8"},
        {"dtype": 7},
        {"shape": [3]},
        {"shape": [-1]},
        {"shape": [2, 2]},
        {"shape": [1.5]},
        {"strides": [-1]},
        {"strides": [2]},
        {"strides": []},
        {"offset": 1},
        {"offset": -1},
        {"storage": bytes(7)},
        {"storage": "text"},
        {"shape": [1 << 50], "strides": [0]},
        {"shape": [0], "strides": [1 << 62]},
        {"shape": [1] * 9, "strides": [1] * 9},
        {"shape": [1 << 30], "strides": [0]},  # a small frame that would unfold into gigabytes
        {"dtype": "bool", "shape": [8], "storage": b"\x02" * 8},
        {"extra": 1},
    ],
)
def test_impossible_arrays_are_malformed(bad: dict[str, Any]) -> None:
    assert isinstance(wire.decode_answer(returned(value=array())), wire.Returned)
    for payload in (returned(value=array(**bad)), returned(args={0: array(**bad)})):
        with pytest.raises(wire.Malformed):
            wire.decode_answer(payload)


@pytest.mark.parametrize(
    "changes",
    [
        {"id": "1"},
        {"id": 1.5},
        {"id": None},
        {"unknown": 1},
        {"args": {"a": 1}},
        {"args": [1]},
        {"args_digest": [1]},
        {"launches": [{}]},
        {"launches": "many"},
        {"traffic": [{"tensor": 3}]},
        {"value": msgspec.msgpack.Ext(3, b"x")},
        {"value": b"bytes"},
        {"value": {1: 2}},
        {"value": {wire.TAG: "load", "source": "", "entries": []}},
        {"value": [0] * (wire.MAX_NODES + 1)},
    ],
)
def test_answers_of_another_form_are_malformed(changes: dict[str, Any]) -> None:
    with pytest.raises(wire.Malformed):
        wire.decode_answer(returned(**changes))


def test_nesting_is_bounded() -> None:
    value: Any = 1
    for _ in range(wire.MAX_DEPTH + 1):
        value = [value]
    with pytest.raises(wire.Malformed):
        wire.decode_answer(returned(value=value))
    bottomless = b"\x91" * 100_000  # a list in a list in a list, past any parser's stack
    with pytest.raises(wire.Malformed):
        wire.decode_answer(bottomless)


@given(values)
def test_objects_are_counted_without_being_made(value: Any) -> None:
    payload = msgspec.msgpack.encode(value)
    count = objects(msgspec.msgpack.decode(payload))
    assert bounded.within(payload, count)
    assert not bounded.within(payload, count - 1)
    assert not bounded.within(payload[:-1], count)
    assert not bounded.within(payload + b"\xc0", count + 1)


def objects(value: Any) -> int:
    if isinstance(value, dict):
        return 1 + sum(objects(key) + objects(item) for key, item in value.items())
    return 1 + sum(map(objects, value)) if isinstance(value, list) else 1


@pytest.mark.parametrize("size", [0, 1, 31, 32, 255, 256, 65535, 65536])
def test_every_width_of_header_is_known(size: int) -> None:
    for value in ("x" * size, b"x" * size, msgspec.msgpack.Ext(5, b"x" * size), [None] * size):
        payload = msgspec.msgpack.encode(value)
        assert bounded.within(payload, size + 1)
    pairs = msgspec.msgpack.encode({str(n): n for n in range(size)})
    assert bounded.within(pairs, 2 * size + 1)
    for number in (0, 127, 128, 1 << 8, 1 << 16, 1 << 32, -1, -33, -(1 << 15), -(1 << 31), -(1 << 63), 1.5, True):
        assert bounded.within(msgspec.msgpack.encode(number), 1)


@pytest.mark.parametrize(
    "bomb",
    [
        b"\x90" * (1 << 22),
        b"\xdd\x00\x40\x00\x00" + b"\x90" * (1 << 22),  # each byte a list of 56 bytes
        b"\xdd\xff\xff\xff\xff",  # four billion items announced
        b"\xdf\xff\xff\xff\xff",
        b"\xc6\xff\xff\xff\xff",
        b"\xc1",
        b"",
    ],
)
def test_a_message_that_would_unfold_into_gigabytes_is_refused_unmade(bomb: bytes) -> None:
    tracemalloc.start()
    with pytest.raises(wire.Malformed):
        wire.decode_answer(bomb)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1 << 20


def test_a_failure_must_be_of_a_kind_that_learners_code_can_cause() -> None:
    for kind in sorted(wire.FAILED_KINDS):
        assert isinstance(
            wire.decode_answer(only_payload(wire.frame(wire.Failed(kind=kind, message="")))), wire.Failed
        )
    with pytest.raises(wire.Malformed):
        wire.decode_answer(only_payload(wire.frame(wire.Failed(kind="accepted", message=""))))


def test_orders_are_no_answers() -> None:
    with pytest.raises(wire.Malformed):
        wire.decode_answer(only_payload(wire.frame(wire.Bye())))


def test_nan_and_infinity_survive() -> None:
    answer = wire.decode_answer(only_payload(wire.frame(wire.Returned(id=1, value=[math.nan, math.inf]))))
    assert isinstance(answer, wire.Returned)
    assert math.isnan(answer.value[0]) and answer.value[1] == math.inf
