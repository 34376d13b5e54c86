"""Cases for `split_kv_decode`: a row of keys shared out, every share asked for, and the shares merged.

The merge gets what the learner's own `partial` returned. Scores follow the data axes: a key is what is left of a
random vector once its part along q is replaced by the wanted score.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from grader.kit import DTYPES, Ask, Axis, Case, Output, Play, Suite, Tolerance, Values, build, place, tolerance

B = 16
UNIT = DTYPES["fp32"].epsilon / 2
TINY = DTYPES["fp32"].tiny


def case(name: str, family: str, keys: int, splits: int, depth: int = 16, **more: object) -> Case:
    return Case(name, family, {"keys": keys, "splits": splits, "depth": depth}, block=B, **more)  # type: ignore[arg-type]


CASES = (
    case("one share", "single", B, 1, visible=True),
    case("two shares", "merge", 2 * B, 2, visible=True),
    case("a remainder", "tail", B + 1, 2, visible=True),
    case("an empty share", "empty", 3, 4, visible=True),
    case("scores that rise", "rising", 4 * B, 4, data="rising", visible=True),
    case("half precision", "fp16", 2 * B, 2, dtype="fp16", visible=True),
    case("one key", "single", 1, 1),
    case("9 keys in 2 shares", "tail", 9, 2),
    case("17 keys in 4 shares", "tail", 17, 4),
    case("7 keys in 4 shares", "tail", 7, 4),
    case("empty shares first", "empty first", 5, 6),
    case("nothing but empty shares", "empty", 0, 3),
    case("no key, one share", "empty", 0, 1),
    case("rising over many shares", "rising", 9 * B + 1, 9, data="rising"),
    case("falling over many shares", "falling", 6 * B, 6, data="falling"),
    case("last share far lower", "cliff", 8 * B, 8, data="cliff"),
    case("first share far lower", "lift", 8 * B, 8, data="lift"),
    case("near 300", "range", 3 * B, 3, data="high"),
    case("near −400", "range", 3 * B, 3, data="low"),
    case("all scores negative", "negative", 3 * B + 5, 3, data="negative"),
    case("one key stands out", "spike", 5 * B, 5, data="spike"),
    case("equal scores", "constant", 3 * B + 1, 4, data="constant"),
    case("depth 24", "depth", 40, 3, 24),
    case("depth 1", "depth", 20, 2, 1),
    case("depth 128", "depth", 40, 3, 128),
    case("strided", "strides", 3 * B + 3, 3, layout="transposed"),
    case("rows apart", "strides", 3 * B + 3, 3, data="rising", layout="padded"),
    case("columns apart", "strides", 2 * B + 3, 2, layout="sliced"),
    case("many keys in few shares", "many", 40 * B + 3, 3),
    case("many shares", "many", 200, 33),
    case("a key a share", "many", 64, 64),
    case("a long share", "many", 2100, 1),
    case("half precision, rising", "fp16", 4 * B + 1, 4, data="rising", dtype="fp16"),
    case("half precision, many keys", "fp16", 30 * B, 2, data="mean3", dtype="fp16"),
)


def play(case: Case, rng: np.random.Generator) -> Play:
    keys, splits, depth = case.dims["keys"], case.dims["splits"], case.dims["depth"]
    spaced = "contiguous" if case.layout == "contiguous" else "sliced"
    q = place(rng.standard_normal(depth), case.dtype, spaced)
    k, v = drawn(case, rng, q.values, (keys, depth))
    outs, sums = [], []
    for start, end in shares(case):
        args = (q, place(k[start:end], case.dtype, case.layout), place(v[start:end], case.dtype, case.layout))
        reply = yield Ask("partial", args, share_of(q.values, args[1].values, args[2].values, case.dtype))
        outs.append(reply.outputs[0])
        sums.append(float(reply.outputs[1]))
    merged = (place(np.array(outs), case.dtype, case.layout), place(np.array(sums), "fp32", spaced))
    top = max(sums) if max(sums) > -np.inf else 0.0
    scale = np.exp(merged[1].values - top) @ np.abs(merged[0].values)
    size = max((abs(s) for s in sums if np.isfinite(s)), default=0.0)
    near = within(8 * UNIT * (8 + np.log2(splits) + size), scale, case.dtype)
    yield Ask("merge", merged, (Output("o", (depth,), case.dtype, near),))


def drawn(case: Case, rng: np.random.Generator, q: Values, shape: tuple[int, int]) -> tuple[Values, Values]:
    """Keys with the scores of the case, and values."""
    k, v = rng.standard_normal(shape), rng.standard_normal(shape) + 0.5
    if shape[0]:
        scores = build(case.data, rng, (1, shape[0]), case.block)[0]
        along = (scores * np.sqrt(shape[1]) - k @ q) / (q @ q)
        k += along[:, None] * q
    return k, v


def shares(case: Case) -> list[tuple[int, int]]:
    """Where each share begins and ends: equal ones rounded up, so that the last may be shorter or empty."""
    keys, splits = case.dims["keys"], case.dims["splits"]
    chunk = -(-keys // splits)
    ends = [min(keys, chunk * i) for i in range(splits + 1)]
    if case.family == "empty first":
        ends = [0, 0, 0, *[min(keys, 2 * i) for i in range(1, splits - 1)]]
    return list(pairwise(ends))


def share_of(q: Values, k: Values, v: Values, dtype: str) -> tuple[Output, Output]:
    """The outputs of `partial`, with what fp32 may cost: a score errs with the sizes of the products in it."""
    keys, depth = k.shape
    scores = k @ q / np.sqrt(depth)
    size = float((np.abs(k) @ np.abs(q)).max(initial=0.0) / np.sqrt(depth))
    unit = 10 * UNIT * (8 + np.log2(1 + keys) + np.log2(1 + depth) + size)
    weights = np.exp(scores - scores.max(initial=-np.inf)) if keys else scores
    scale = weights @ np.abs(v) / max(weights.sum(), TINY)
    return (
        Output("o", (depth,), dtype, within(unit, scale, dtype)),
        Output("lse", (), "fp32", within(unit, np.ones(()), "fp32")),
    )


def within(unit: float, scale: Values, dtype: str) -> Callable[[Values, Sequence[Values]], Tolerance]:
    def near(expected: Values, inputs: Sequence[Values]) -> Tolerance:
        return tolerance(
            expected,
            relative=unit,
            absolute=TINY,
            dtype=dtype,
            scale=scale,
            because=(
                "fp32 arithmetic: a score errs by a unit of its products, exp turns that into a relative error "
                "of its weight, a sum adds log₂ of its length when it is paired; ten times what was seen."
            ),
        )

    return near


def partial_by_logarithms(q: Values, k: Values, v: Values) -> tuple[Values, float]:
    """The same by another road: the log-sum-exp folded key by key, then each weight from it."""
    scores = (k * q).sum(axis=1) / len(q) ** 0.5
    lse = float(np.logaddexp.reduce(scores, initial=-np.inf))
    out = np.zeros(len(q))
    for score, value in zip(scores, v, strict=True):
        out += np.exp(score - lse) * value
    return out, lse


def merge_in_pairs(o: Values, lse: Values) -> Values:
    """Merged one share at a time, each with what came before."""
    out, total = np.zeros(o.shape[1]), -np.inf
    for row, own in zip(o, lse, strict=True):
        both = np.logaddexp(total, own)
        if both > -np.inf:
            out = np.exp(total - both) * out + np.exp(own - both) * row
        total = both
    return out


SUITE = Suite(
    axes=(
        Axis("splits", "share", "shares"),
        Axis("depth", "dimension", "dimensions"),
        Axis("keys", "key", "keys", tiled=True),
    ),
    cases=CASES,
    play=play,
    probes=tuple(
        replace(c, name=f"probe: {c.name}", visible=True)
        for c in (
            case("rising", "rising", 3 * B + 1, 3, data="rising"),
            case("normal", "merge", 3 * B + 1, 3),
            case("high", "range", 3 * B + 1, 3, data="high"),
            case("empty", "empty", 3, 4),
            case("strided", "strides", 3 * B + 1, 3, layout="transposed"),
        )
    ),
    independent={"partial": partial_by_logarithms, "merge": merge_in_pairs},
)
