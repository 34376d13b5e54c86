"""Cases for `fused_attention`: lengths around tiles of 16 both ways, the causal mask wherever its corner can be,
and scores that need each part of the state.

Queries are few where only keys matter. Head dimensions are spread over the cases; 16 where nothing depends on it.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from grader.kit import (
    Ask,
    AttentionShape,
    Axis,
    Case,
    Fresh,
    Output,
    Part,
    Play,
    Suite,
    Timed,
    Values,
    attention_inputs,
    near_attention,
    place,
)

B = 16
LONG = 24 * B + 1  # past 256, where a buffer of Sq × Sk is larger than any state
HEAD_DIMS = (16, 32, 64, 128)
LOUD = 12.0  # deviation of loud queries and keys


def case(
    name: str,
    family: str,
    q: int,
    k: int,
    d: int = 16,
    data: str = "normal",
    *,
    batch: int = 1,
    heads: int = 1,
    causal: bool = False,
    dtype: str = "fp32",
    layout: str = "contiguous",
) -> Case:
    dims = {"batch": batch, "heads": heads, "q": q, "k": k, "d": d}
    return Case(name, family, dims, data, dtype, layout, block=B, settings={"causal": causal})


VISIBLE = (
    case("one query, one key", "single", 1, 1),
    case("one tile", "single", B, B, 32),
    case("one key past a tile", "tail", 3, B + 1),
    case("three tiles and one", "tiles", 2, 3 * B + 1, 64),
    case("a maximum that rises", "rising", 2, 4 * B, data="rising"),
    case("causal, as many queries as keys", "causal", 2 * B + 1, 2 * B + 1, causal=True),
    case("causal, two queries over a cache", "aligned", 2, B + 2, 32, causal=True),
    case("causal, more queries than keys", "blind", B + 4, 5, causal=True),
    case("two sequences, three heads", "heads", 5, B + 1, batch=2, heads=3),
    case("heads side by side in memory", "strides", 5, B + 1, heads=2, batch=2, layout="interleaved"),
    case("half precision", "fp16", B + 1, 2 * B + 1, 64, dtype="fp16", causal=True),
    case("bfloat16", "bf16", 4, 2 * B + 1, 32, dtype="bf16"),
    case("long", "long", LONG, LONG, causal=True),
)

HIDDEN = (
    case("15 keys, negative", "negative", 2, B - 1, data="negative"),
    case("17 keys, negative", "negative", 2, B + 1, data="negative"),
    case("17 keys, positive", "tail", 1, B + 1, 128, data="mean3"),
    case("31 keys", "tail", B - 1, 2 * B - 1, 32),
    case("32 keys", "tiles", B, 2 * B, 128),
    case("33 keys, 17 queries", "tail", B + 1, 2 * B + 1, 64),
    case("17 queries, one key", "queries", B + 1, 1),
    case("rising over nine tiles", "rising", 3, 8 * B + 1, 32, data="rising"),
    case("falling", "falling", 2, 3 * B + 1, data="falling"),
    case("last tiles far lower", "cliff", 2, 8 * B, data="cliff"),
    case("first tiles far lower", "lift", 2, 8 * B, data="lift"),
    case("spike", "spike", 4, 5 * B, 64, data="spike"),
    case("equal scores", "constant", 2, 2 * B + 1, data="constant"),
    case("near 300", "range", 3, 2 * B + 1, data="high"),
    case("near −400", "range", B, 2 * B + 1, data="low"),
    case("near −20,000", "range", 1, B + 1, data="deep"),
    case("heads far apart", "heads", 2, 2 * B + 1, data="apart", heads=3),
    case("heads of different scale", "heads", 3, B + 3, 32, data="scales", batch=2, heads=2),
    case("two sequences", "heads", 2, B - 3, batch=2),
    case("three sequences, two heads", "heads", 3, 5, batch=3, heads=2),
    case("one shape, three times", "again", 3, B + 1),
    case("causal, one query and two keys", "aligned", 1, 2, causal=True),
    case("causal, one query and 17 keys", "aligned", 1, B + 1, causal=True),
    case("causal, 15 queries and 16 keys", "aligned", B - 1, B, 64, causal=True),
    case("causal, 16 queries and 17 keys", "aligned", B, B + 1, causal=True),
    case("causal, 32 queries and 40 keys", "aligned", 2 * B, 2 * B + 8, 32, causal=True),
    case("causal, 31 queries and 64 keys", "aligned", 2 * B - 1, 4 * B, causal=True),
    case("causal, 17 queries and 16 keys", "blind", B + 1, B, causal=True),
    case("causal, 40 queries and 7 keys", "blind", 2 * B + 8, 7, 64, causal=True),
    case("causal, rising", "causal", 3 * B, 3 * B, data="rising", causal=True),
    case("causal, negative, two heads", "causal", B + 1, 2 * B + 5, 128, data="negative", heads=2, causal=True),
    case("columns swapped in memory", "strides", B + 1, B + 1, 32, layout="transposed", heads=2),
    case("every other column", "strides", 3, 2 * B + 1, layout="sliced", batch=2),
    case("rows of a wider array", "strides", 5, 2 * B + 1, layout="padded", heads=2, data="rising"),
    case("heads side by side, causal", "strides", B + 1, B + 3, layout="interleaved", heads=3, causal=True),
    case("one key head shown for all", "strides", 3, B + 1, layout="shared", heads=3, batch=2),
    case("many tiles", "many", 2, 40 * B + 5),
    case("many tiles, half precision", "fp16", 2, 40 * B + 5, dtype="fp16"),
    case("half precision, equal scores", "fp16", 2, 80 * B + 1, data="constant", dtype="fp16"),
    case("half precision, rising", "fp16", 3, 4 * B + 1, 128, data="rising", dtype="fp16"),
    case("half precision, wide scores", "fp16", 4, 2 * B + 1, 32, data="high", dtype="fp16"),
    case("half precision, loud", "loud", 1, 2 * B + 1, 32, heads=4, dtype="fp16"),
    case("bfloat16, loud", "loud", 1, 2 * B + 1, 32, heads=4, dtype="bf16"),
    case("half precision, a first key far ahead", "fp16", 4, 80 * B, data="ahead", dtype="fp16"),
    case("half precision, more queries than keys", "blind", B + 2, 6, dtype="fp16", causal=True),
    case("bfloat16, many tiles", "bf16", 2, 20 * B + 5, dtype="bf16"),
    case("bfloat16, causal", "bf16", B + 1, B + 5, 64, dtype="bf16", causal=True, layout="interleaved", heads=2),
    case("long, one sequence", "long", LONG + 7, LONG),
)

# For the GPU lane alone: sizes that an interpreter would take minutes for.
LARGE = (
    replace(case("many heads", "large", 129, 257, 64, batch=3, heads=8, layout="interleaved"), visible=True),
    case("long, causal, half precision", "large", 1031, 1031, 64, heads=2, dtype="fp16", causal=True),
    case("long and wide, bfloat16", "large", 515, 2049, 128, dtype="bf16", data="rising"),
)

PROBES = tuple(
    replace(one, name=f"probe: {one.name}")
    for one in (
        case("normal", "tiles", 2, 3 * B + 1),
        case("rising", "rising", 2, 3 * B + 1, data="rising"),
        case("negative", "negative", 2, 3 * B + 1, data="negative"),
        case("causal", "causal", B + 1, 2 * B + 1, causal=True),
        case("causal, blind", "blind", 2 * B, B + 1, causal=True),
        case("strided", "strides", 3, B + 1, layout="interleaved", batch=2, heads=2),
        case("half precision", "fp16", 2, 3 * B + 1, dtype="fp16"),
    )
)


def around(blocks: tuple[int, ...]) -> tuple[Case, ...]:
    """The same faults around the tiles that were launched: the widest and the narrowest up to 128."""
    usable = [block for block in blocks if B <= block <= 128]
    wide, narrow = max(usable, default=4 * B), min(usable, default=2 * B)
    near = (
        case("W−1 keys", "negative", 2, wide - 1, data="negative"),
        case("W+1 keys", "negative", 2, wide + 1, data="negative"),
        case("3W+1 keys, rising", "rising", 1, 3 * wide + 1, data="rising"),
        case("5W keys, first ones far lower", "lift", 1, 5 * wide, data="lift"),
        case("W+1 queries", "queries", wide + 1, 5),
        case("causal, W queries and W+1 keys", "aligned", wide, wide + 1, causal=True),
        case("causal, W+1 queries and W keys", "blind", wide + 1, wide, causal=True),
        case("N+1 keys", "tail", 2, narrow + 1),
        case("causal, 2N−1 queries and 4N keys", "aligned", 2 * narrow - 1, 4 * narrow, causal=True),
    )
    return tuple(
        replace(one, name=f"around: {one.name}", block=narrow if "N" in one.name else wide) for one in near
    )


def play(case: Case, rng: np.random.Generator) -> Play:
    dims = case.dims
    shape = AttentionShape(dims["batch"], dims["heads"], dims["heads"], dims["q"], dims["k"], dims["d"])
    causal = bool(case.settings["causal"])
    heads = shape.batch * shape.heads
    scratch = 16 * heads * (shape.q_len + shape.kv_len) * shape.depth
    for _ in range(3 if case.family == "again" else 1):  # other numbers where the last ones lay
        parts = zip(drawn(case, rng, shape), layouts(case.layout), strict=True)
        q, k, v = (place(part, case.dtype, layout) for part, layout in parts)
        out = Output("result", q.shape, case.dtype, near_attention(case.dtype, causal=causal), tiled_axis=2)
        yield Ask("attention", (q, k, v, causal), (out,), scratch_bytes=scratch)


def drawn(case: Case, rng: np.random.Generator, shape: AttentionShape) -> tuple[Values, Values, Values]:
    """q, k and v. Where they are loud, a score is a sum of far larger terms, and none of these may be rounded."""
    q, k, v = attention_inputs(case.data, rng, shape, case.block)
    if case.family == "loud":
        scores = q @ k.swapaxes(-1, -2)
        q, k = (LOUD * rng.standard_normal(part.shape) for part in (q, k))
        k += (scores - q @ k.swapaxes(-1, -2)).swapaxes(-1, -2) * q / (q * q).sum(axis=-1, keepdims=True)
    return q, k, v


def layouts(name: str) -> tuple[str, str, str]:
    """Where q, k and v lie. v never has the strides of k, unless all are contiguous."""
    if name == "contiguous":
        return name, name, name
    return ("contiguous" if name == "shared" else name), name, ("sliced" if name == "padded" else "padded")


def by_log_sum_exp(q: Values, k: Values, v: Values, causal: bool) -> Values:
    """The same function by another road: one query at a time over the keys it sees, weights exp(s − logsumexp)."""
    out = np.zeros(q.shape)
    for i in range(q.shape[2]):
        seen = k.shape[2] - q.shape[2] + i + 1 if causal else k.shape[2]
        if seen < 1:
            continue
        scores = np.einsum("bhd,bhjd->bhj", q[:, :, i], k[:, :, :seen]) * q.shape[3] ** -0.5
        weights = np.exp(scores - np.logaddexp.reduce(scores, axis=-1, keepdims=True))
        out[:, :, i] = np.einsum("bhj,bhjd->bhd", weights, v[:, :, :seen])
    return out


FULL = (2, 16, 4096, 64)
QUERIES_LOOKED_AT = 8


def some_queries(rng: np.random.Generator) -> Part:
    """A few queries of one head, with the keys that the last of them sees: attention over these stands alone."""
    batch, heads, length, depth = FULL
    b, h = int(rng.integers(batch)), int(rng.integers(heads))
    start = int(rng.integers(0, length - QUERIES_LOOKED_AT + 1))
    stop = start + QUERIES_LOOKED_AT
    head, whole = (slice(b, b + 1), slice(h, h + 1)), slice(0, depth)
    queries, keys = (*head, slice(start, stop), whole), (*head, slice(0, stop), whole)
    return Part(args=(queries, keys, keys, None), outputs=(queries,))


TIMED = Timed(
    entry="attention",
    args=(Fresh(FULL, "fp16"), Fresh(FULL, "fp16"), Fresh(FULL, "fp16"), True),
    outputs=(Output("result", FULL, "fp16", near_attention("fp16", causal=True), tiled_axis=2),),
    part=some_queries,
    words="2 sequences × 16 heads × 4096 queries and keys × 64 columns, fp16, causal",
    flops=4.0 * FULL[0] * FULL[1] * FULL[3] * (FULL[2] * (FULL[2] + 1) / 2),
)


def suite(cases: Sequence[Case]) -> Suite:
    return Suite(
        axes=(
            Axis("batch", "sequence", "sequences"),
            Axis("heads", "head", "heads"),
            Axis("q", "query", "queries"),
            Axis("k", "key", "keys", tiled=True),
            Axis("d", "column", "columns", least=16, only=HEAD_DIMS),
        ),
        cases=tuple(cases),
        play=play,
        probes=PROBES,
        independent={"attention": by_log_sum_exp},
        around=around,
        gpu_cases=LARGE,
        timed=TIMED,
    )


SUITE = suite((*(replace(one, visible=True) for one in VISIBLE), *HIDDEN))
