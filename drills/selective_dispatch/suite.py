"""Cases for `selective_dispatch`: shapes of every row, some just beside another row, and mixes of traffic."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from grader.kit import Ask, Case, Exact, Output, Play, Suite, Tolerance, Values, tolerance

Shape = dict[str, Any]


def shape(queries: int, *lengths: int) -> Shape:
    return {"queries": queries, "lengths": list(lengths)}


SHAPES: dict[str, Shape] = {
    "two sequences of 8,192, one query": shape(1, 8192, 8192),
    "one chunk of 512": shape(512, 8192),
    "one sequence, one query": shape(1, 32_768),
    "four equal sequences": shape(1, *[512] * 4),
    "two lengths": shape(1, 4096, 512),
    "one key short of equal": shape(1, *[8192] * 7, 8191),
    "only the first differs": shape(1, 100, *[8192] * 6),
    "equal ends, another middle": shape(1, 700, 300, 700),
    "two queries, one sequence": shape(2, 9000),
    "two queries, equal lengths": shape(2, 4096, 4096),
    "five queries, ragged": shape(5, 4096, 4000),
    "a chunk each, ragged": shape(256, 512, 8192, 512),
    "the first is the mean": shape(1, 600, 300, 900),
    "chunks, one key short of equal": shape(64, 4096, 4096, 4095),
}
MIXES: dict[str, dict[str, int]] = {
    "300 equal decodes and 100 chunks": {"decode equal": 300, "chunk": 100},
    "ragged decodes only": {"decode ragged": 700},
    "single decodes only": {"decode one": 50},
    "chunks only": {"chunk": 80},
    "ragged chunks only": {"chunks ragged": 300},
    "mostly ragged": {"decode equal": 150, "decode ragged": 650, "decode one": 50, "chunk": 150},
    "one slow among many fast": {"decode one": 990, "decode ragged": 10},
    "all five": {"decode one": 40, "decode equal": 300, "decode ragged": 60, "chunk": 200, "chunks ragged": 90},
}
RANDOM = ("a random ragged batch", "a random equal batch", "a random mix", "another random mix")
SHOWN = {"two sequences of 8,192, one query", "one chunk of 512", "300 equal decodes and 100 chunks"}


def play(case: Case, rng: np.random.Generator) -> Play:
    if case.about in MIXES or "mix" in case.about:
        yield Ask(
            "speedup", (MIXES.get(case.about) or mixed(rng),), (Output("result", (), "fp64", one_in_a_thousand),)
        )
    else:
        yield Ask("choose", (SHAPES.get(case.about) or batch(case.about, rng),), (Exact("backend"),))


def batch(about: str, rng: np.random.Generator) -> Shape:
    """Several sequences in decode, equal but for one where ragged."""
    lengths = [int(rng.integers(100, 20_000))] * int(rng.integers(2, 12))
    if "ragged" in about:
        lengths[int(rng.integers(len(lengths)))] += 1 + int(rng.integers(50))
    return shape(1, *lengths)


def mixed(rng: np.random.Generator) -> dict[str, int]:
    """Calls of at least three rows, rare and frequent ones."""
    names = ("decode one", "decode equal", "decode ragged", "chunk", "chunks ragged")
    chosen = rng.permutation(5)[: int(rng.integers(3, 6))]
    return {names[i]: int(10 ** rng.uniform(1, 3)) for i in sorted(chosen)}


def one_in_a_thousand(expected: Values, inputs: Sequence[Values]) -> Tolerance:
    return tolerance(
        expected,
        relative=0.001,
        absolute=0.0,
        dtype="fp64",
        because="the statement asks for a thousandth: a percent of a gain of a tenth, and less than 2 µs a call",
    )


def choose_by_rule(given: Shape) -> str:
    """The rule that the table comes to, without the table."""
    equal = all(length == given["lengths"][0] for length in given["lengths"])
    if not equal:
        return "in_use"
    return "new" if given["queries"] == 1 else "tiled"


SAVED = {"decode one": 39.0, "decode equal": 34.9, "chunk": 18.9}  # µs a call, by row; the others save nothing
BEFORE = {"decode one": 55.1, "decode equal": 134.2, "decode ragged": 138.3, "chunk": 131.3, "chunks ragged": 170.2}


def speedup_by_savings(mix: dict[str, int]) -> float:
    """From what is saved, less 2 µs a call, as a share of what a step took."""
    saved = sum(calls * (SAVED.get(row, 0.0) - 2.0) for row, calls in mix.items())
    step = sum(calls * BEFORE[row] for row, calls in mix.items()) / 0.4
    return step / (step - saved)


SUITE = Suite(
    axes=(),
    cases=tuple(
        Case(about, family, {}, about=about, visible=about in SHOWN)
        for family, names in (
            ("choice", (*SHAPES, *RANDOM[:2])),
            ("gain", (*MIXES, *RANDOM[2:])),
        )
        for about in names
    ),
    play=play,
    probes=(),
    independent={"choose": choose_by_rule, "speedup": speedup_by_savings},
)
