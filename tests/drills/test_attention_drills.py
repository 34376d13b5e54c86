"""`fused_attention`, `drifting_attention`, `packed_gqa_decode`: what their files promise, and being in step.

That every specimen meets its verdict is the gate's business (`make drills`); here a few are graded as handed in.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from math import exp
from pathlib import Path

import pytest

from grader import hints
from grader.check import _complaints, _run
from grader.drill import Drill, load_drills
from grader.kit import Case, Placed, faults_of, generator
from grader.matrix import digest
from grader.pool import Pool
from grader.specimens import Ran, Specimen, read_specimens
from grader.suite import load_answers
from grader.verdict import Lane, Outcome

DRILLS = Path(__file__).parents[2] / "drills"
IDS = ("drifting_attention", "fused_attention", "packed_gqa_decode")


@cache
def drill(name: str) -> Drill:
    return load_drills(DRILLS)[name]


@cache
def specimens(name: str) -> dict[str, Specimen]:
    return {f"{one.kind}/{one.name}": one for one in read_specimens(drill(name))[0]}


def cases(name: str) -> tuple[Case, ...]:
    suite = load_answers(drill(name)).suite
    return (*suite.cases, *suite.around(()))


@pytest.mark.parametrize("name", IDS)
def test_the_stored_matrix_is_of_these_cases_and_mutants(name: str) -> None:
    stored = hints.load_matrix(drill(name).folder)
    assert stored is not None
    assert stored.cases == tuple(case.name for case in cases(name))
    mutants = [one for one in specimens(name).values() if one.kind == "mutant"]
    said = [(one.name, one.what, one.ask, " | ".join(one.expect)) for one in mutants]
    assert [(fault.name, fault.what, fault.ask, fault.expect) for fault in stored.faults] == said
    assert stored.inputs == digest(drill(name))
    hidden = {case.name for case in cases(name) if not case.visible}
    assert all(hidden & set(fault.signature.cases) for fault in stored.faults)


@pytest.mark.parametrize("name", IDS)
def test_enough_specimens_and_a_question_for_each(name: str) -> None:
    mutants = [one for one in specimens(name).values() if one.kind == "mutant"]
    assert len(mutants) >= 20
    assert sum(one.kind == "correct" for one in specimens(name).values()) >= 5
    assert len({one.ask for one in mutants}) == len(mutants)


@pytest.mark.parametrize("name", IDS)
def test_the_suite_covers_the_axes(name: str) -> None:
    suite = load_answers(drill(name)).suite
    assert faults_of(suite) == []
    keys = {case.dims["k"] for case in suite.cases}
    assert {1, 15, 16, 17, 31, 32, 33} <= keys and max(keys) > 256
    assert {case.dims["d"] for case in suite.cases if not case.visible} == {16, 32, 64, 128}
    wanted = {"fp32", "fp16", "bf16"} if name == "fused_attention" else {"fp32", "fp16"}
    assert {case.dtype for case in suite.cases} == wanted
    layouts = {case.layout for case in suite.cases}
    assert {"contiguous", "padded", "transposed", "sliced", "interleaved", "shared"} == layouts
    data = {case.data for case in suite.cases if not case.visible}
    assert {"normal", "rising", "falling", "negative", "cliff", "lift", "spike", "constant", "high", "low"} <= data


def test_fused_attention_has_the_shapes_where_masks_go_wrong() -> None:
    causal = {(c.dims["q"], c.dims["k"]) for c in cases("fused_attention") if c.settings["causal"]}
    assert {(1, 2), (1, 17), (16, 17), (32, 40), (17, 16), (40, 7)} <= causal
    assert any((k - q) % 16 == 1 for q, k in causal)


def test_fused_attention_watches_scratch_only_where_a_table_of_scores_is_larger_than_any_state() -> None:
    suite = load_answers(drill("fused_attention")).suite
    tables = {}
    for case in suite.cases:
        ask = next(suite.play(case, generator(b"test", case.name)))
        tables[case.name] = 4 * case.dims["q"] * case.dims["k"] * case.dims["batch"] * case.dims["heads"]
        tables[case.name] -= ask.scratch_bytes or 0
    assert {name for name, over in tables.items() if over > 0} == {"long", "long, one sequence"}


@pytest.mark.parametrize("name", IDS)
def test_keys_and_values_differ_in_strides_unless_dense(name: str) -> None:
    suite = load_answers(drill(name)).suite
    differ = 0
    for case in suite.cases:
        ask = next(suite.play(case, generator(b"test", case.name)))
        _, k, v = (argument for argument in ask.args if isinstance(argument, Placed))
        differ += k.strides != v.strides
        assert case.layout == "contiguous" or k.strides != v.strides, case.name
    assert differ >= 3


@pytest.mark.parametrize("blocks", [(), (16,), (16, 64), (128, 32), (1024,), (2, 4)])
@pytest.mark.parametrize("name", IDS)
def test_cases_around_what_was_launched(name: str, blocks: tuple[int, ...]) -> None:
    suite = load_answers(drill(name)).suite
    assert len(suite.around(blocks)) == len(suite.around(()))
    wide = max((block for block in blocks if 16 <= block <= 128), default=64)
    assert {wide - 1, wide + 1, 3 * wide + 1, 5 * wide} <= {case.dims["k"] for case in suite.around(blocks)}


def test_statements_work_their_examples_right() -> None:
    fused = drill("fused_attention").statement
    old, a = 1 + exp(-1), 10 * exp(-1) + 20
    new_l, new_a = old * exp(-3) + 1 + exp(-2), a * exp(-3) + 30 + 40 * exp(-2)
    first_l, first_a = 1 + exp(-2), 10 * exp(-2) + 20
    rest_l, rest_a = first_l + exp(-1), first_a + 30 * exp(-1)
    numbers = (old, a, new_l, new_a, new_a / new_l, first_l, first_a, rest_l, rest_a, rest_a / rest_l, exp(-3))
    for number in (*numbers, a * exp(-3), 30 + 40 * exp(-2)):
        assert f"{number:.6f}" in fused, number
    assert f"{(a + 30 + 40 * exp(-2)) / new_l:.2f}" in fused
    drift = drill("drifting_attention").statement
    for number in (10 * exp(-3) + 20, exp(-3) + 1, (10 * exp(-3) + 20) / (exp(-3) + 1)):
        assert f"{number:.6f}" in drift, number
    packed = drill("packed_gqa_decode").statement
    for number in ((10 * exp(-2) + 20) / (exp(-2) + 1), (10 + 20 * exp(-2)) / (1 + exp(-2))):
        assert f"{number:.6f}" in packed, number
    layer = 2 * 8 * 8192 * 128 * 2
    assert f"{layer >> 20} MiB" in packed and f"{8 * layer >> 20} MiB" in packed
    assert f"{80 * layer / 2**30:.1f} GiB" in packed and f"{80 * layer / 3.35e12 * 1e3:.2f} ms" in packed


@pytest.mark.parametrize("name", IDS)
def test_statements_lead_to_what_exists(name: str) -> None:
    content = DRILLS.parent / "content"
    links = re.findall(r"/(cards|questions)/([a-z0-9-]+)", drill(name).statement)
    assert links
    for kind, item in (
        *links,
        *(("cards", c) for c in drill(name).cards),
        *(("questions", q) for q in drill(name).questions),
    ):
        assert (content / {"cards": "concepts", "questions": "questions"}[kind] / f"{item}.md").exists(), item


# Graded in the real sandbox, as a learner's file would be.


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with Pool(Lane.CPU, size=1) as pool:
        yield pool


def graded(name: str, specimen: str, pool: Pool) -> Ran:
    found = _run(drill(name), specimens(name)[specimen], lambda _: pool)
    assert [str(problem) for problem in _complaints(drill(name), found)] == []
    return found


@pytest.mark.sandbox
@pytest.mark.parametrize(
    ("name", "specimen"),
    [
        ("fused_attention", "correct/first_version"),
        ("fused_attention", "mutant/causal_bound_one_short"),
        ("fused_attention", "mutant/state_of_input_type"),
        ("packed_gqa_decode", "correct/split_keys"),
        ("packed_gqa_decode", "mutant/heads_in_a_loop"),
    ],
)
def test_verdict(name: str, specimen: str, pool: Pool) -> None:
    graded(name, specimen, pool)


@pytest.mark.sandbox
def test_the_drifting_starter_shows_its_drift(pool: Pool) -> None:
    verdict = graded("drifting_attention", "starter/starter", pool).verdict
    passed = {case.name: case.outcome is Outcome.ACCEPTED for case in verdict.cases if case.visible}
    assert passed["one tile"] and passed["eight tiles, falling"] and passed["eight tiles, equal scores"]
    assert not passed["two tiles, rising"] and not passed["eight tiles, rising"]
    assert verdict.diagnosis is not None
    curve = {point.shape: point.error for point in verdict.diagnosis.error_by_tiles}
    errors = [next(e for shape, e in curve.items() if f" {16 * n} keys" in shape) for n in (1, 2, 4, 8)]
    assert errors[0] is not None and errors[0] <= 1 and errors[1] is not None and errors[1] > 1000
    assert errors[3] is not None and errors[3] > 2 * errors[1]
    assert "right with one tile, wrong from the second one on" in verdict.diagnosis.trend, (
        curve,
        verdict.diagnosis,
    )


@pytest.mark.sandbox
def test_scores_in_memory_are_named_as_what_they_are(pool: Pool) -> None:
    verdict = graded("fused_attention", "mutant/scores_in_memory", pool).verdict
    first = next(case for case in verdict.cases if case.outcome is not Outcome.ACCEPTED)
    assert first.name == "long" and "besides the arguments and the result" in first.detail


@pytest.mark.sandbox
def test_the_starter_of_packed_decode_counts_its_loads(pool: Pool) -> None:
    verdict = graded("packed_gqa_decode", "starter/starter", pool).verdict
    assert verdict.outcome is Outcome.RULE_BROKEN
    first = next(case for case in verdict.cases if case.outcome is not Outcome.ACCEPTED)
    assert "An element of k was loaded twice" in first.detail
