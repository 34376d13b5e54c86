"""Cases for `cached_attention`: a chunk over a partly filled cache, a decode step after it, and a call too many.

What the first call leaves in the caches goes into the second. Slots that nobody has written hold infinities: a
weight of 0 does not hide that they were read.
"""

from collections.abc import Callable, Sequence

import numpy as np

from grader.kit import (
    DTYPES,
    Ask,
    Axis,
    Case,
    Output,
    Placed,
    Play,
    Suite,
    Tolerance,
    Values,
    build,
    place,
    tolerance,
)

UNIT = DTYPES["fp32"].epsilon / 2
TINY = DTYPES["fp32"].tiny


def case(
    name: str, family: str, heads: tuple[int, int], cached: int, new: int, depth: int = 8, **more: object
) -> Case:
    dims = {"heads": heads[0], "kv_heads": heads[1], "cached": cached, "new": new, "depth": depth}
    return Case(name, family, dims, **more)  # type: ignore[arg-type]


CASES = (
    case("a prompt, one head", "prompt", (1, 1), 0, 4, visible=True),
    case("a decode step", "decode", (1, 1), 5, 1, visible=True),
    case("a chunk", "chunk", (2, 2), 3, 2, visible=True),
    case("two heads a KV head", "heads", (4, 2), 3, 2, visible=True),
    case("exactly full", "full", (2, 1), 6, 2, visible=True),
    case("transposed views", "strides", (2, 2), 3, 3, layout="transposed", visible=True),
    case("the first token", "decode", (2, 2), 0, 1),
    case("three heads a KV head", "heads", (6, 2), 4, 3),
    case("three KV heads", "heads", (6, 3), 4, 3),
    case("four heads a KV head", "heads", (8, 2), 0, 5),
    case("six heads a KV head", "heads", (12, 2), 7, 1),
    case("one KV head for all", "heads", (5, 1), 4, 2),
    case("a draft of five", "chunk", (4, 2), 33, 5),
    case("more new than cached", "chunk", (2, 1), 3, 17),
    case("a long decode step", "decode", (6, 2), 130, 1),
    case("depth 24", "depth", (3, 1), 5, 3, 24),
    case("depth 1", "depth", (3, 3), 5, 3, 1),
    case("full to the last slot", "full", (6, 2), 12, 4),
    case("scores near 300", "range", (4, 2), 9, 3, data="high"),
    case("scores near −400", "range", (4, 2), 9, 3, data="low"),
    case("heads of different scale", "heads", (8, 2), 6, 4, data="scales"),
    case("padded caches", "strides", (6, 2), 6, 4, layout="padded"),
    case("columns apart", "strides", (6, 3), 6, 4, layout="sliced"),
    case("transposed caches", "strides", (4, 2), 9, 1, layout="transposed"),
)


def play(case: Case, rng: np.random.Generator) -> Play:
    heads, kv_heads, depth = (case.dims[name] for name in ("heads", "kv_heads", "depth"))
    cached, new = case.dims["cached"], case.dims["new"]
    room = cached + new + (0 if case.family == "full" else 1 + int(rng.integers(1, 6)))
    level = build(case.data, rng, (1, 1), 1)[0, 0] * np.sqrt(depth) if case.data in ("high", "low") else 0.0
    caches = tuple(np.full((kv_heads, room, depth), np.inf) for _ in range(2))
    for cache in caches:
        cache[:, :cached] = rng.standard_normal((kv_heads, cached, depth)) + 0.3
    caches[0][:, :cached, 0] += abs(level) ** 0.5
    for tokens in (new, 1) if room > cached + new else (new,):
        args = drawn(case, rng, heads, caches, tokens, level)
        reply = yield Ask("attend", (*args, cached), outputs(args, cached))
        caches = reply.outputs[1:]
        cached += tokens
    too_many = room - cached + 1
    yield Ask("attend", (*drawn(case, rng, heads, caches, too_many, level), cached), raises="ValueError")


def drawn(
    case: Case, rng: np.random.Generator, heads: int, caches: Sequence[Values], new: int, level: float
) -> tuple[Placed, ...]:
    """Queries, new keys and values, and the caches as they are, laid out as the case says.

    Queries and keys share a part along the first direction that puts all scores near `level`.
    """
    kv_heads, _, depth = caches[0].shape
    q = rng.standard_normal((heads, new, depth)) + 0.2
    q[..., 0] += np.sign(level) * abs(level) ** 0.5
    if case.data == "scales":
        q *= np.geomspace(0.25, 4.0, heads)[:, None, None]
    k, v = (rng.standard_normal((kv_heads, new, depth)) + 0.3 for _ in range(2))
    k[..., 0] += abs(level) ** 0.5
    return tuple(place(values, "fp32", case.layout) for values in (q, k, v, *caches))


def outputs(args: tuple[Placed, ...], cached: int) -> tuple[Output, Output, Output]:
    """The result with what fp32 may cost, and the caches, which are copies and so exact."""
    q, k_new, v_new, k_cache, v_cache = args
    out = Output("o", q.shape, "fp32", attended(q.values, k_new.values, v_new.values, cached, args))
    return (
        out,
        Output("k_cache", k_cache.shape, "fp32", copied, argument=3),
        Output("v_cache", v_cache.shape, "fp32", copied, argument=4),
    )


def attended(
    q: Values, k_new: Values, v_new: Values, cached: int, args: tuple[Placed, ...]
) -> Callable[[Values, Sequence[Values]], Tolerance]:
    k = np.concatenate([args[3].values[:, :cached], k_new], axis=1).repeat(len(q) // len(k_new), axis=0)
    v = np.concatenate([args[4].values[:, :cached], v_new], axis=1).repeat(len(q) // len(k_new), axis=0)
    size = (np.abs(q) @ np.abs(k).swapaxes(1, 2)).max(axis=2, keepdims=True) / np.sqrt(q.shape[2])
    hidden = np.triu(np.ones((q.shape[1], k.shape[1]), dtype=bool), cached + 1)
    scores = np.where(hidden, -np.inf, q @ k.swapaxes(1, 2) / np.sqrt(q.shape[2]))
    weights = np.exp(scores - scores.max(axis=2, keepdims=True))
    scale = weights @ np.abs(v) / weights.sum(axis=2, keepdims=True)

    def near(expected: Values, inputs: Sequence[Values]) -> Tolerance:
        return tolerance(
            expected,
            relative=30 * UNIT * (8 + np.log2(1 + k.shape[1]) + size),
            absolute=TINY,
            dtype="fp32",
            scale=scale,
            because=(
                "fp32 arithmetic: a score errs by a unit of its products, exp turns that into a relative error of "
                "its weight, and a sum of weights adds log₂ of its length; ten times what correct code showed."
            ),
        )

    return near


def copied(expected: Values, inputs: Sequence[Values]) -> Tolerance:
    return tolerance(
        expected,
        relative=UNIT / 4,
        absolute=TINY,
        dtype="fp32",
        because="a copy is exact: less than half a unit in the last place, so that no other number passes",
    )


def attend_at_once(
    q: Values, k_new: Values, v_new: Values, k_cache: Values, v_cache: Values, cached: int
) -> tuple[Values, Values, Values]:
    """All heads at once over new arrays, in logarithms, with the caches put together again."""
    end = cached + k_new.shape[1]
    if end > k_cache.shape[1]:
        raise ValueError
    keys = np.concatenate([k_cache[:, :cached], k_new, k_cache[:, end:]], axis=1)
    values = np.concatenate([v_cache[:, :cached], v_new, v_cache[:, end:]], axis=1)
    group = q.reshape(len(k_new), -1, *q.shape[1:])
    scores = np.einsum("kgtd,ksd->kgts", group, keys[:, :end]) / q.shape[2] ** 0.5
    scores = np.where(np.tri(q.shape[1], end, cached, dtype=bool), scores, -np.inf)
    weights = np.exp(scores - np.logaddexp.reduce(scores, axis=3)[..., None])
    return np.einsum("kgts,ksd->kgtd", weights, values[:, :end]).reshape(q.shape), keys, values


SUITE = Suite(
    axes=(
        Axis("heads", "query head", "query heads"),
        Axis("kv_heads", "KV head", "KV heads"),
        Axis("cached", "cached token", "cached tokens", least=0),
        Axis("new", "new token", "new tokens"),
        Axis("depth", "dimension", "dimensions"),
    ),
    cases=CASES,
    play=play,
    probes=(),
    independent={"attend": attend_at_once},
)
