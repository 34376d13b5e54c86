"""Cases for `tensor_parallel_plan`: bytes for some tokens and ranks, and the plan, which is only asked hidden.

A visible case would print the plan that was expected.
"""

from itertools import product

import numpy as np

from grader.kit import Ask, Axis, Case, Exact, Play, Suite


def case(name: str, tokens: int, ranks: int, *, visible: bool = False) -> Case:
    family = "one rank" if ranks == 1 else "divides" if 8192 * 2 % ranks == 0 else "remainder"
    return Case(name, family, {"tokens": tokens, "ranks": ranks}, data="", visible=visible)


YEAR = 10**11  # so many bytes that float64 knows them to 64, and int64 still holds what is multiplied on the way
CASES = (
    case("one token, eight ranks", 1, 8, visible=True),
    case("one token, three ranks", 1, 3, visible=True),
    case("one rank", 100, 1, visible=True),
    Case("the plan", "plan", {"tokens": 1, "ranks": 8}, data=""),
    case("one token, two ranks", 1, 2),
    case("two tokens, three ranks", 2, 3),
    case("one token, seven ranks", 1, 7),
    case("five tokens, six ranks", 5, 6),
    case("a prompt on four ranks", 2048, 4),
    case("a long prompt on eight ranks", 131_072, 8),
    case("an odd prompt on five ranks", 1237, 5),
    case("one rank, one token", 1, 1),
    case("some prompt, seven ranks", 3000, 7),
    case("one token, sixteen ranks", 1, 16),
    case("some prompt, twelve ranks", 1500, 12),
    case("a year of tokens, seven ranks", YEAR, 7),
    case("a year of tokens, eleven ranks", YEAR, 11),
)
SPREAD = 500  # hidden prompts of more than a hundred tokens grow by up to so many


def play(case: Case, rng: np.random.Generator) -> Play:
    if case.family == "plan":
        yield Ask("plan", (), (Exact("plan"),))
    tokens, ranks = case.dims["tokens"], case.dims["ranks"]
    if not case.visible and tokens >= 100:
        tokens += ranks * int(rng.integers(SPREAD // ranks))  # the remainder stays that of the case
    yield Ask("bytes_sent", (tokens, ranks), (Exact("number of bytes"),))


PIECES = {"column": ("whole", "piece"), "row": ("piece", "share"), "replicated": ("whole", "whole")}


def plan_by_trial() -> dict[str, str]:
    """The only plan that works, found by trying all: who holds what is followed through the block."""
    names = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
    found = [dict(zip(names, cuts, strict=True)) for cuts in product(PIECES, repeat=7) if works(*cuts)]
    (only,) = found
    return only


def works(q: str, k: str, v: str, o: str, gate: str, up: str, down: str) -> bool:
    """Does every rank have what it needs, are all shared out, and is it two all-reduces?"""
    if "replicated" in (q, k, v, o, gate, up, down):
        return False
    for firsts, last in (((q, k, v), o), ((gate, up), down)):
        if any(PIECES[cut][0] != "whole" for cut in firsts):
            return False  # what enters a half of the block is whole
        held = {PIECES[cut][1] for cut in firsts}
        if held != {PIECES[last][0]} or PIECES[last][1] != "share":
            return False  # the last matrix takes what the first ones made, and its shares are added up
    return True


def bytes_by_hop(tokens: int, ranks: int) -> int:
    """Hop by hop: in each of 2(p − 1) steps a rank passes on a p-th of the vector, for 160 vectors a token."""
    hops = 2 * (ranks - 1)
    return sum(hops * 8192 * 2 * tokens for _ in range(160)) // ranks


SUITE = Suite(
    axes=(Axis("tokens", "token", "tokens"), Axis("ranks", "rank", "ranks")),
    cases=CASES,
    play=play,
    probes=(),
    independent={"plan": plan_by_trial, "bytes_sent": bytes_by_hop},
)
