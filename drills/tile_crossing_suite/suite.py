"""Cases for `tile_crossing_suite`: the learner's cases against faulty and correct kernels, on several draws.

The visible case plays the cases on public data, so that it can say which kernel survives; hidden cases draw anew,
and a case that catches a fault by luck does so only sometimes. All kernels are float32, in tiles of 16 × 16.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from grader.kit import Ask, Case, Checked, Mark, Play, Raw, Report, Suite, Values, rounded

B, D = 16, 16
MOST_COST, LEAST_COST = 200, 14
KEYS = ("q_len", "kv_len", "data", "tolerance")
NAMES = ("normal", "rising", "falling", "negative", "constant", "spike")
QUERY_NOISE, KEY_NOISE = 0.4, 0.25


def scores(name: str, rng: np.random.Generator, n: int) -> Values:
    """What the scores of n keys lie near, as the statement says."""
    place = np.linspace(0.0, 1.0, n)
    if name == "normal":
        return 2.0 * rng.standard_normal(n)
    if name in ("rising", "falling"):
        ramp = 12.0 * place - 6.0
        return ramp if name == "rising" else -ramp
    if name == "spike":
        return np.where(np.arange(n) == n // 2, 200.0, rng.standard_normal(n))
    return np.full(n, -8.0 if name == "negative" else 1.0)


def inputs(name: str, rng: np.random.Generator, q_len: int, kv_len: int) -> tuple[Raw, Raw, Raw]:
    """q ``[q, D]``, k and v ``[k, D]`` in float32, so that each score lies near the wanted one."""
    direction = rng.choice([-1.0, 1.0], D)
    noise = 0.0 if name == "constant" else KEY_NOISE
    q = direction + QUERY_NOISE * rng.standard_normal((q_len, D))
    k = scores(name, rng, kv_len)[:, None] * direction / np.sqrt(D) + noise * rng.standard_normal((kv_len, D))
    return q.astype(np.float32), k.astype(np.float32), (1 + rng.standard_normal((kv_len, D))).astype(np.float32)


def exact(q: Raw, k: Raw, v: Raw) -> Values:
    """Attention in float64."""
    wide = q.astype(np.float64) @ k.astype(np.float64).T / np.sqrt(D)
    weights = np.exp(wide - wide.max(axis=1, keepdims=True))
    return np.asarray(weights @ v / weights.sum(axis=1, keepdims=True))


@dataclass
class State:
    """What a tile of rows carries: maximum, sum, accumulator, float32."""

    m: Raw
    total: Raw
    acc: Raw

    @staticmethod
    def empty(rows: int) -> State:
        zeros = np.zeros(rows, np.float32)
        return State(zeros - np.float32(np.inf), zeros.copy(), np.zeros((rows, D), np.float32))


@dataclass(frozen=True)
class Tile:
    """One step of a kernel: where it stands, and the lengths of the whole."""

    row: int
    key: int
    q_len: int
    kv_len: int


Step = Callable[[State, Raw, Raw, Tile], State]


@dataclass(frozen=True)
class Kernel:
    """A kernel put together from parts; each part that is not the default is one fault, or one way to be right.

    `ask` is the question that points at what a suite lacks which lets it live.
    """

    ask: str = ""
    axis: str = ""  # what a suite must reach to catch it
    step: Step = field(default=lambda state, s, v, at: online(state, s, v))
    tiles: Callable[[int, int], range] = field(default=lambda q, k: range(0, k, B))
    rows: Callable[[int], range] = field(default=lambda q: range(0, q, B))
    lanes: int = 0  # that lie past the last key, and count
    fill: float = 0.0  # the values of such lanes
    scale: float = D**-0.5
    kept: bool = False  # the state of one tile of rows goes into the next
    first_rows: bool = False  # every tile of rows reads the first queries

    def __call__(self, q: Raw, k: Raw, v: Raw) -> Raw:
        q_len, kv_len = len(q), len(k)
        out = np.full((q_len, D), np.nan, np.float32)
        k, v = np.pad(k, ((0, B), (0, 0))), np.pad(v, ((0, B), (0, 0)), constant_values=self.fill)
        state = State.empty(B)
        for row in self.rows(q_len):
            at = slice(0, B) if self.first_rows else slice(row, row + B)
            queries = np.zeros((B, D), np.float32)
            queries[: len(q[at])] = q[at]
            state = state if self.kept else State.empty(B)
            for key in self.tiles(q_len, kv_len):
                s = queries @ k[key : key + B].T * np.float32(self.scale)
                s[:, max(0, kv_len + self.lanes - key) :] = -np.inf
                state = self.step(state, s, v[key : key + B], Tile(row, key, q_len, kv_len))
            count = min(B, q_len - row)
            out[row : row + count] = (state.acc / state.total[:, None])[:count]
        return out


def online(state: State, s: Raw, v: Raw) -> State:
    top = np.maximum(state.m, s.max(axis=1))
    weights, factor = np.exp(s - top[:, None]), np.exp(state.m - top)
    return State(top, state.total * factor + weights.sum(axis=1), state.acc * factor[:, None] + weights @ v)


def changed(change: Callable[[State, State, Raw, Raw], State]) -> Step:
    """A step that is right, and then changed: gets the state before, the right one after, scores and values."""
    return lambda state, s, v, at: change(state, online(state, s, v), s, v)


def narrowed(dtype: str, *parts: str) -> Step:
    def narrow(before: State, after: State, s: Raw, v: Raw) -> State:
        return replace(after, **{p: rounded(getattr(after, p), dtype).astype(np.float32) for p in parts})

    return changed(narrow)


def no_acc_rescale(before: State, after: State, s: Raw, v: Raw) -> State:
    return replace(after, acc=before.acc + np.exp(s - after.m[:, None]) @ v)


def no_sum_rescale(before: State, after: State, s: Raw, v: Raw) -> State:
    return replace(after, total=before.total + np.exp(s - after.m[:, None]).sum(axis=1))


def rescale_by_tile(before: State, after: State, s: Raw, v: Raw) -> State:
    """The factor comes from the maximum of the new tile alone: wrong as soon as that is the lower one."""
    factor = np.where(np.isinf(before.m), 0, np.exp(before.m - s.max(axis=1)))[:, None]
    return replace(after, acc=before.acc * factor + np.exp(s - after.m[:, None]) @ v)


def upside_down(before: State, after: State, s: Raw, v: Raw) -> State:
    factor = np.where(np.isinf(before.m), 1, np.exp(after.m - before.m))[:, None]
    return replace(after, acc=before.acc * factor + np.exp(s - after.m[:, None]) @ v)


def no_maximum(state: State, s: Raw, v: Raw, at: Tile) -> State:
    weights = np.exp(s)
    return State(state.m, state.total + weights.sum(axis=1), state.acc + weights @ v)


def first_maximum(state: State, s: Raw, v: Raw, at: Tile) -> State:
    top = s.max(axis=1) if at.key == 0 else state.m
    weights = np.exp(s - top[:, None])
    return State(top, state.total + weights.sum(axis=1), state.acc + weights @ v)


def replaced_maximum(state: State, s: Raw, v: Raw, at: Tile) -> State:
    """Right, but for what overflows: the maximum of the newest tile stands for all."""
    top = s.max(axis=1)
    weights, factor = np.exp(s - top[:, None]), np.exp(state.m - top)
    total = np.where(np.isinf(state.m), 0, state.total * factor)
    acc = np.where(np.isinf(state.m)[:, None], 0, state.acc * factor[:, None])
    return State(top, total + weights.sum(axis=1), acc + weights @ v)


def averaged(state: State, s: Raw, v: Raw, at: Tile) -> State:
    """Softmax of each tile by itself, and the mean of the tiles."""
    weights = np.exp(s - s.max(axis=1, keepdims=True))
    return State(state.m, state.total + 1, state.acc + weights / weights.sum(axis=1, keepdims=True) @ v)


def skips_lower(state: State, s: Raw, v: Raw, at: Tile) -> State:
    """A tile whose maximum is no news is taken for no news at all, in rows whose maximum stays."""
    after = online(state, s, v)
    stays = after.m == state.m
    return State(after.m, np.where(stays, state.total, after.total), np.where(stays[:, None], state.acc, after.acc))


def half_weights(state: State, s: Raw, v: Raw, at: Tile) -> State:
    after = online(state, s, v)
    weights = np.exp(s - after.m[:, None])
    coarse = rounded(weights, "bf16").astype(np.float32)
    return replace(after, acc=after.acc + (coarse - weights) @ v)


TAIL = "At which key lengths is the last tile partial, and what do its lanes past the end do?"
LATER = "In which of your cases does the largest score of a row come in a later tile than the first?"
STATE = "Which of your tolerances is below what a half-precision state errs by, and above what float32 rounds off?"
LARGE = "What is the largest score in your cases, and what is its exponential in float32?"
ROWS = "Which of your cases have more queries than one tile, and a partial last one?"
ONE_PAST = "At which key length does a loop that ends one key early forget a whole tile?"
LONG = "What is the longest key length of your cases, and which fixed number of tiles would it reveal?"
SIDES = "In which of your cases are there more tiles of keys than of queries?"
LOWER = "In which of your cases does a tile come whose largest score is below those before it?"

FAULTY: tuple[Kernel, ...] = (
    Kernel(LATER, "later maximum", changed(no_acc_rescale)),
    Kernel(LATER, "later maximum", changed(no_sum_rescale)),
    Kernel(LATER, "later maximum", changed(upside_down)),
    Kernel(LOWER, "lower tile", changed(rescale_by_tile)),
    Kernel(LOWER, "lower tile", skips_lower),
    Kernel(LOWER, "lower tile", averaged),
    Kernel(STATE, "tolerance", narrowed("fp16", "acc")),
    Kernel(STATE, "tolerance", narrowed("fp16", "total")),
    Kernel(STATE, "tolerance", narrowed("bf16", "acc", "total")),
    Kernel(STATE, "tolerance", half_weights),
    Kernel(LARGE, "large scores", no_maximum),
    Kernel(LARGE, "large scores", first_maximum),
    Kernel(LARGE, "large scores", replaced_maximum),
    Kernel(TAIL, "partial key tile", lanes=B),
    Kernel(TAIL, "partial key tile", lanes=1),
    Kernel(TAIL, "partial key tile", lanes=1, fill=1.0),
    Kernel(TAIL, "partial key tile", tiles=lambda q, k: range(0, max(B, k // B * B), B)),
    Kernel(ONE_PAST, "one key past a tile", tiles=lambda q, k: range(0, max(1, k - 1), B)),
    Kernel(LONG, "many tiles", tiles=lambda q, k: range(0, min(k, 8 * B), B)),
    Kernel(LONG, "many tiles", tiles=lambda q, k: range(0, min(k, 4 * B), B)),
    Kernel(SIDES, "more keys than queries", tiles=lambda q, k: range(0, min(k, -(-q // B) * B), B)),
    Kernel(ROWS, "second query tile", rows=lambda q: range(0, max(B, q // B * B), B)),
    Kernel(ROWS, "second query tile", first_rows=True),
    Kernel(ROWS, "second query tile", kept=True),
    Kernel("Is there a case in which a wrong scale of the scores shows?", "uneven scores", scale=1.0 / D),
)  # fmt: skip


def two_passes(q: Raw, k: Raw, v: Raw) -> Raw:
    s = q @ k.T * np.float32(D**-0.5)
    weights = np.exp(s - s.max(axis=1, keepdims=True))
    return np.asarray(weights @ v / weights.sum(axis=1, keepdims=True), dtype=np.float32)


def in_base_two(state: State, s: Raw, v: Raw, at: Tile) -> State:
    """Scores in units of ln 2, as kernels with a fast exp2 keep them."""
    s = s * np.float32(np.log2(np.e))
    top = np.maximum(state.m, s.max(axis=1))
    weights, factor = np.exp2(s - top[:, None]), np.exp2(state.m - top)
    return State(top, state.total * factor + weights.sum(axis=1), state.acc * factor[:, None] + weights @ v)


def divided_each_time(state: State, s: Raw, v: Raw, at: Tile) -> State:
    """The accumulator is a finished average after every tile, weighted anew."""
    after = online(replace(state, acc=state.acc * state.total[:, None]), s, v)
    return replace(after, acc=after.acc / after.total[:, None])


class Divided(Kernel):
    """Averages need no division at the end."""

    def __call__(self, q: Raw, k: Raw, v: Raw) -> Raw:
        def last(state: State, s: Raw, v: Raw, at: Tile) -> State:
            after = divided_each_time(state, s, v, at)
            if at.key + B < at.kv_len:
                return after
            return replace(after, total=np.ones_like(after.total))

        return Kernel(step=last)(q, k, v)


CORRECT: tuple[Callable[[Raw, Raw, Raw], Raw], ...] = (
    Kernel(),
    Kernel(step=in_base_two),
    Kernel(tiles=lambda q, k: range((k - 1) // B * B, -1, -B)),
    Divided(),
    two_passes,
)


# What a suite is worth.


@dataclass(frozen=True)
class Planned:
    """One of the learner's cases, as it should be."""

    q_len: int
    kv_len: int
    data: str
    tolerance: float

    @property
    def cost(self) -> int:
        """Tile steps."""
        return -(-self.q_len // B) * -(-self.kv_len // B)

    @property
    def words(self) -> str:
        return f"{self.q_len} × {self.kv_len}, {self.data}, {self.tolerance:g}"


class NotACase(Exception):
    """What the learner returned is no list of cases."""


def planned(value: object) -> list[Planned]:
    """The cases that `cases()` returned, or `NotACase`, which says what is not as promised."""
    if not isinstance(value, list):
        raise NotACase(f"cases() must return a list, not {type(value).__name__}")
    if len(value) > MOST_COST:
        raise NotACase(f"{len(value)} cases cost more than {MOST_COST} tile steps")
    return [_planned(number, item) for number, item in enumerate(value)]


def _planned(number: int, item: object) -> Planned:
    label = f"case {number}"
    if not isinstance(item, dict) or sorted(item) != sorted(KEYS):
        raise NotACase(f"{label} must be a dict with exactly the keys {', '.join(KEYS)}")
    for key in ("q_len", "kv_len"):
        length = item[key]
        if type(length) is not int or not 1 <= length <= MOST_COST * B:
            raise NotACase(f"{label}: {key} must be an int from 1 to {MOST_COST * B:,}")
    if item["data"] not in NAMES:
        raise NotACase(f"{label}: data must be one of {', '.join(NAMES)}")
    tolerance = item["tolerance"]
    if type(tolerance) not in (int, float) or not 0 < tolerance < float("inf"):
        raise NotACase(f"{label}: tolerance must be a finite number above 0")
    return Planned(item["q_len"], item["kv_len"], item["data"], float(tolerance))


def check_on(draw: Callable[[int], np.random.Generator]) -> Callable[[Any], Report]:
    """A check that draws the data of case n from ``draw(n)``."""

    def check(value: Any) -> Report:
        try:
            suite = planned(value)
        except NotACase as wrong:
            return Report(False, f"That is no test suite yet: {wrong}.", features=("shape",))
        cost = sum(case.cost for case in suite)
        if cost > MOST_COST:
            words = f"The suite costs {cost:,} tile steps; at most {MOST_COST} are allowed."
            asked = "Which of your cases catch a fault that no other does?"
            return Report(False, words, features=("cost",), question=asked)
        return judged(suite, cost, draw)

    return check


def judged(suite: list[Planned], cost: int, draw: Callable[[int], np.random.Generator]) -> Report:
    caught: dict[int, int] = {}  # kernel → the first case that catches it
    alarms: dict[int, int] = {}  # the same for correct kernels
    for number, case in enumerate(suite):
        given = inputs(case.data, draw(number), case.q_len, case.kv_len)
        wanted = exact(*given)
        for kernels, found in ((FAULTY, caught), (CORRECT, alarms)):
            for i, kernel in enumerate(kernels):
                if i not in found and refused(kernel, given, wanted, case.tolerance):
                    found[i] = number
    return report(suite, cost, caught, alarms)


def refused(
    kernel: Callable[[Raw, Raw, Raw], Raw], given: tuple[Raw, Raw, Raw], wanted: Values, tolerance: float
) -> bool:
    """Does the case say that this kernel is wrong? NaN is never within a tolerance."""
    with np.errstate(all="ignore"):
        error = np.abs(kernel(*given) - wanted).max()
    return not error <= tolerance


def report(suite: list[Planned], cost: int, caught: dict[int, int], alarms: dict[int, int]) -> Report:
    alive = [kernel for i, kernel in enumerate(FAULTY) if i not in caught]
    score = min(100, round(100 * LEAST_COST / cost)) if cost and not alive and not alarms else 0
    return Report(
        accepted=not alive and not alarms,
        words=sentence(alive, alarms, cost, score),
        marks=tuple(marks(suite, caught, alarms)),
        figures=(
            ("faulty kernels caught", f"{len(caught)} of {len(FAULTY)}"),
            ("correct kernels passed", f"{len(CORRECT) - len(alarms)} of {len(CORRECT)}"),
            ("cost", f"{cost} of {MOST_COST} tile steps"),
            ("score", f"{score} of 100"),
        ),
        features=(*sorted({f"alive_{kernel.axis}" for kernel in alive}), *(("alarm",) if alarms else ())),
        question=question(suite, alive, alarms),
    )


def sentence(alive: list[Kernel], alarms: dict[int, int], cost: int, score: int) -> str:
    if not alive and not alarms:
        dear = "" if score == 100 else f" The least cost known is {LEAST_COST}."
        return (
            f"Accepted, {score} of 100: all faulty kernels caught, no correct one refused, {cost} tile steps.{dear}"
        )
    parts = []
    if alive:
        parts.append(f"Your suite lets {len(alive)} of {len(FAULTY)} faulty kernels pass")
    if alarms:
        parts.append(f"it refuses {len(alarms)} of {len(CORRECT)} correct ones")
    words = ", and ".join(parts)
    return f"{words}." if alive else f"Your suite catches every faulty kernel, but {words}."


def question(suite: list[Planned], alive: list[Kernel], alarms: dict[int, int]) -> str:
    """One question, about the axis that most survivors need."""
    if alarms:
        case = suite[min(alarms.values())]
        return f"Your case {case.words} refuses a kernel that is right. What does float32 round off at this size?"
    if not alive:
        return ""
    axes = [kernel.axis for kernel in alive]
    return max(alive, key=lambda kernel: axes.count(kernel.axis)).ask


def marks(suite: list[Planned], caught: dict[int, int], alarms: dict[int, int]) -> Iterator[Mark]:
    for i in range(len(FAULTY)):
        number = caught.get(i)
        words = "passes every case" if number is None else f"caught by case {number}: {suite[number].words}"
        yield Mark("Faulty kernels", f"F{i + 1}", number is not None, words)
    for i in range(len(CORRECT)):
        number = alarms.get(i)
        words = "passes every case" if number is None else f"refused by case {number}: {suite[number].words}"
        yield Mark("Correct kernels", f"C{i + 1}", number is None, words)


def play(case: Case, rng: np.random.Generator) -> Play:
    root = 0 if case.visible else int(rng.integers(1 << 62))
    yield Ask("cases", (), (Checked("suite", check_on(lambda number: np.random.default_rng([root, number]))),))


def by_the_book() -> list[dict[str, object]]:
    """Another suite that catches them all: every length around a tile, every kind of data."""
    lengths = ((1, 1), (17, 17), (3, 33), (33, 49), (1, 129))
    return [dict(zip(KEYS, (q, k, data, 3e-5), strict=True)) for q, k in lengths for data in NAMES]


SUITE = Suite(
    axes=(),
    cases=(
        Case("on public data", "public", {}, about="your cases on data that never changes", visible=True),
        *(Case(f"draw {n}", "drawn", {}, about="your cases on data drawn anew") for n in (1, 2, 3, 4)),
    ),
    play=play,
    probes=(),
    independent={"cases": by_the_book},
)
