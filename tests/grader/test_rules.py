"""Rules by evidence: what is missing counts as broken, what is exactly allowed is kept."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from grader.drill import Rules
from grader.kit import Ask, Output, place
from grader.rules import block_for, blocks_of, broken_rule, in_words, parameter_names, traffic
from grader.wire import Launch, Moved, Returned
from tests.grader.callers import toy

DRILL = toy(framework="triton", rules=Rules(written_by_kernel=True, loads_per_element=2, stores_per_element=1))


def ask(layout: str = "contiguous", shape: tuple[int, int] = (3, 5)) -> Ask:
    x = place(np.ones(shape), "fp32", layout)
    return Ask("softmax", (x,), (Output("result", shape, "fp32", lambda e, i: None),))  # type: ignore[arg-type, return-value]


def returned(**changes: Any) -> Returned:
    arg = {"tensor": "arg0", "loaded_bytes": 120, "loaded_elements_max": 2} | changes.pop("arg", {})
    ret = {"tensor": "ret0", "stored_bytes": 60, "stored_elements_max": 1, "covered": 1.0} | changes.pop("ret", {})
    more = changes.pop("more", [])
    return Returned(id=0, value=None, launch_count=1, traffic=[Moved(**arg), Moved(**ret), *more], **changes)


def key(reply: Returned, asked: Ask | None = None, *, counted: bool = True, seen: bool = True) -> str | None:
    broken = broken_rule(DRILL, asked or ask(), reply, counted=counted, seen=seen)
    return broken.key if broken else None


def test_kept_rules() -> None:
    assert key(returned()) is None


@pytest.mark.parametrize(
    ("reply", "broken"),
    [
        (Returned(id=0, value=None), "no_kernel"),
        (Returned(id=0, value=None, launch_count=1), "not_written"),
        (returned(ret={"covered": 0.999}), "not_written"),
        (returned(ret={"covered": float("nan")}), "not_written"),
        (returned(more=[Moved(tensor="tmp0", foreign_bytes=1)]), "computed_elsewhere"),
        (returned(arg={"foreign_bytes": 4}), "computed_elsewhere"),
        (returned(arg={"loaded_elements_max": 3}), "loads"),
        (returned(ret={"stored_elements_max": 2}), "stores"),
    ],
)
def test_broken_rules(reply: Returned, broken: str) -> None:
    assert key(reply) == broken


def test_a_lane_that_counts_nothing_still_sees_launches() -> None:
    assert key(returned(arg={"loaded_elements_max": 9}), counted=False, seen=False) is None
    assert key(Returned(id=0, value=None), counted=False) == "no_kernel"


def test_a_lane_that_sees_writers_only_asks_who_wrote() -> None:
    assert key(returned(arg={"loaded_elements_max": 9}), counted=False) is None
    assert key(returned(ret={"covered": 0.0}), counted=False) == "not_written"
    assert key(returned(arg={"foreign_bytes": 4}), counted=False) == "computed_elsewhere"


def test_a_slot_that_three_rows_share_may_be_loaded_for_each() -> None:
    shared = ask("expanded")
    assert key(returned(arg={"loaded_elements_max": 6}), shared) is None
    assert key(returned(arg={"loaded_elements_max": 7}), shared) == "loads"


def test_loads_may_be_limited_for_some_arguments_only() -> None:
    of_x, of_y = (DRILL.model_copy(update={"rules": Rules(loads_per_element=1, loads_of=(n,))}) for n in ("x", "y"))
    reply = returned(arg={"loaded_elements_max": 2})
    assert (found := broken_rule(of_x, ask(), reply, counted=True)) is not None and found.key == "loads"
    assert broken_rule(of_y, ask(), reply, counted=True) is None


@pytest.mark.parametrize(
    ("tmp", "ret", "kept"),
    [(100, 60, True), (101, 60, False), (0, 160, True), (40, 121, False), (60, 100, True), (0, 0, True)],
)
def test_scratch_is_what_lies_beside_arguments_and_results(tmp: int, ret: int, kept: bool) -> None:
    asked = replace(ask(), scratch_bytes=100)  # the result itself has 60 bytes
    reply = returned(arg={"nbytes": 9999}, ret={"nbytes": ret}, more=[Moved(tensor="tmp1", nbytes=tmp)])
    assert key(reply, asked) == (None if kept else "scratch")
    assert key(reply) is None


def test_a_drill_without_rules_breaks_none() -> None:
    assert broken_rule(toy(), ask(), Returned(id=0, value=None), counted=True) is None


def test_traffic_beside_the_least_possible() -> None:
    moved = {t.tensor: t for t in traffic(DRILL, ask(), returned())}
    assert (moved["x"].loaded, moved["x"].least_loaded) == (120, 60)
    assert (moved["result"].stored, moved["result"].least_stored) == (60, 60)
    shared = {t.tensor: t for t in traffic(DRILL, ask("expanded"), returned())}
    assert shared["x"].least_loaded == 20


@pytest.mark.parametrize(
    ("signature", "names"),
    [
        ("softmax(x: Tensor[rows, cols]) -> Tensor[rows, cols]", ["x"]),
        ("attention(q[B,H,Sq,D], k[B,H,Sk,D], v[B,H,Sk,D], causal: bool) -> o", ["q", "k", "v", "causal"]),
        ("plan() -> dict[str, str]", []),
        ("no parentheses", []),
    ],
)
def test_parameter_names(signature: str, names: list[str]) -> None:
    assert parameter_names(signature) == names


def test_tensors_in_words() -> None:
    assert [in_words(DRILL, ask(), key) for key in ("arg0", "arg3", "ret0", "tmp0", "what")] == [
        "x",
        "argument 4",
        "result",
        "a buffer of your own",
        "a tensor",
    ]


def launch(**constants: int | float | bool | str) -> Launch:
    return Launch(kernel="k", grid=(1,), constants=constants, num_warps=4)


@pytest.mark.parametrize(
    ("launches", "blocks"),
    [
        ([], ()),
        ([launch(BLOCK=64)], (64,)),
        ([launch(BLOCK_M=16, BLOCK_N=128, HEAD=64)], (16, 128)),
        ([launch(HEAD=64, N=32)], (32, 64)),
        ([launch(BLOCK=65, CAUSAL=True, SCALE=2.0, NAME="64")], ()),
        ([launch(BLOCK=64), launch(TILE=32)], (32, 64)),
        ([launch(BLOCK=-64), launch(BLOCK=1 << 40)], ()),
    ],
)
def test_blocks_among_the_constants(launches: list[Launch], blocks: tuple[int, ...]) -> None:
    assert blocks_of(launches) == blocks


@pytest.mark.parametrize(
    ("blocks", "length", "block"),
    [
        ((), 10, None),
        ((64,), 65, 64),
        ((64,), 10, 64),
        ((16, 64), 65, 64),
        ((16, 64), 33, 16),
        ((256, 512), 100, 256),
    ],
)
def test_the_block_for_a_length(blocks: tuple[int, ...], length: int, block: int | None) -> None:
    assert block_for(blocks, length) == block
