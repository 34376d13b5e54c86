"""The question: the fault that failed alike, whatever the block; else a general one; never the fix."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from grader.hints import FILE, KillMatrix, KnownFault, Signature, likeness, load_matrix, question
from grader.messages import UNLIKE_ANY


def sign(**changes: object) -> Signature:
    base = {"outcome": "wrong_answer", "kind": "values", "cases": ("a", "b"), "families": ("tail",)}
    return Signature(**(base | changes))  # type: ignore[arg-type]


def known(name: str, signature: Signature) -> KnownFault:
    return KnownFault(name=name, what="", ask=f"Is it {name}?", expect="wrong_answer", signature=signature)


MATRIX = KillMatrix(
    drill="d",
    inputs="",
    cases=("a", "b", "c", "d", "e"),
    control=(),
    faults=(
        known("tail", sign(trend="partial", features=("last_tile",))),
        known("rescale", sign(cases=("c", "d", "e"), families=("rising",), trend="second_tile")),
        known("type", sign(kind="dtype", cases=("e",), families=("fp16",))),
    ),
    margins={},
)


def test_the_same_signature_is_alike() -> None:
    for fault in MATRIX.faults:
        assert likeness(fault.signature, fault.signature) == 1.0
        assert question(MATRIX, fault.signature) == fault.ask


def test_a_learner_with_another_block_fails_fewer_cases_and_is_still_recognised() -> None:
    seen = sign(cases=("a",), trend="partial", features=("last_tile",))
    assert question(MATRIX, seen) == "Is it tail?"


@pytest.mark.parametrize(
    "changes",
    [{"outcome": "runtime_error"}, {"kind": "shape"}, {"trend": "second_tile"}],
)
def test_another_outcome_kind_or_trend_is_not_alike(changes: dict[str, str]) -> None:
    assert likeness(sign(**({"trend": "partial"} | changes)), MATRIX.faults[0].signature) == 0.0


def test_which_probes_fail_tells_faults_apart_that_fail_like_cases() -> None:
    one = sign(trend="second_tile", probes=("rising",))
    other = sign(trend="second_tile_grows", probes=("rising", "falling"))
    assert likeness(sign(trend="second_tile_grows", probes=("rising",)), one) == 1.0
    assert likeness(one, other) < 0.8


def test_what_is_like_nothing_gets_the_question_of_its_trend() -> None:
    assert "Whole tiles are right" in question(MATRIX, sign(cases=("e",), families=("x",), trend="partial"))
    assert question(MATRIX, sign(cases=("x",), families=("x",), features=("x",))) == UNLIKE_ANY


def test_without_a_matrix_there_is_a_general_question() -> None:
    assert question(None, sign(trend="grows")).endswith("?")
    assert (
        question(None, sign(kind="dtype"))
        == "Which type does the contract promise, and where does your code choose one?"
    )


def test_a_stored_matrix_comes_back_and_a_broken_one_is_ignored(tmp_path: Path) -> None:
    assert load_matrix(tmp_path) is None
    (tmp_path / FILE).write_bytes(msgspec.json.encode(MATRIX))
    assert load_matrix(tmp_path) == MATRIX
    (tmp_path / FILE).write_text('{"drill": 3}')
    assert load_matrix(tmp_path) is None
