"""Cases for `chunked_causal_mask`: the shapes of decode, draft, chunk and prompt, and queries without a key.

Hidden shapes move a little with the secret seed, so that no table of answers passes.
"""

from collections.abc import Sequence

import numpy as np

from grader.kit import Ask, Axis, Case, Output, Play, Suite, Tolerance, Values, tolerance

MOVES = 3  # a hidden length may grow by up to this much


def case(name: str, family: str, q_len: int, kv_len: int, *, visible: bool = False) -> Case:
    return Case(name, family, {"q_len": q_len, "kv_len": kv_len}, data="", dtype="bool", visible=visible)


CASES = (
    case("a whole prompt", "square", 4, 4, visible=True),
    case("one new token", "decode", 1, 5, visible=True),
    case("two new tokens", "chunk", 2, 5, visible=True),
    case("more queries than keys", "cut", 3, 2, visible=True),
    case("the first token of all", "square", 1, 1),
    case("another whole prompt", "square", 17, 17),
    case("a long decode step", "decode", 1, 130),
    case("all but one cached", "chunk", 2, 3),
    case("half cached", "chunk", 16, 32),
    case("one cached", "chunk", 31, 32),
    case("a draft of five", "chunk", 5, 64),
    case("a chunk of a prompt", "chunk", 64, 200),
    case("one key, many queries", "cut", 6, 1),
    case("twice as many queries", "cut", 40, 20),
    case("one query too many", "cut", 33, 32),
    case("a chunk of more than 256", "chunk", 260, 300),  # rows that eight bits do not count
    case("four tokens after thousands", "chunk", 4, 5001),  # positions that a half-precision float does not hold
)


def play(case: Case, rng: np.random.Generator) -> Play:
    q_len, kv_len = case.dims["q_len"], case.dims["kv_len"]
    if not case.visible:
        more = int(rng.integers(0, MOVES + 1))
        kv_len += more  # a square stays one, and a decode step has one query
        q_len += 0 if case.family == "decode" else more
    yield Ask("visible", (q_len, kv_len), (Output("mask", (q_len, kv_len), "bool", exactly),))


def exactly(expected: Values, inputs: Sequence[Values]) -> Tolerance:
    return tolerance(
        expected, relative=0.0, absolute=0.0, dtype="bool", because="true and false are exact, there is no rounding"
    )


def by_rows(q_len: int, kv_len: int) -> Values:
    """Counted instead of compared: row i sees as many keys as there are tokens up to its own."""
    mask = np.zeros((q_len, kv_len))
    for i in range(q_len):
        mask[i, : max(0, kv_len - (q_len - 1 - i))] = 1.0
    return mask


SUITE = Suite(
    axes=(Axis("q_len", "query", "queries"), Axis("kv_len", "key", "keys")),
    cases=CASES,
    play=play,
    probes=(
        case("probe: chunk", "chunk", 3, 8, visible=True),
        case("probe: decode", "decode", 1, 8, visible=True),
        case("probe: cut", "cut", 4, 2, visible=True),
        case("probe: square", "square", 4, 4, visible=True),
    ),
    independent={"visible": by_rows},
)
