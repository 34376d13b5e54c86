"""Cases for `drifting_attention`: one tile of 16 keys to many, and scores whose order decides which fault shows."""

from dataclasses import replace

import numpy as np

from grader.kit import (
    Ask,
    AttentionShape,
    Axis,
    Case,
    Output,
    Play,
    Suite,
    Values,
    attention_inputs,
    near_attention,
    place,
)

B = 16
PAST = 32 * B + 1  # one key past the largest tile that a repair by width would take
HEAD_DIMS = (16, 32, 64, 128)


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
    dtype: str = "fp32",
    layout: str = "contiguous",
) -> Case:
    dims = {"batch": batch, "heads": heads, "q": q, "k": k, "d": d}
    return Case(name, family, dims, data, dtype, layout, block=B)


VISIBLE = (
    case("one key", "single", 1, 1),
    case("one tile", "single", B, B, 32),
    case("two tiles, rising", "rising", 2, 2 * B, data="rising"),
    case("four tiles, rising", "rising", 2, 4 * B, data="rising"),
    case("eight tiles, rising", "rising", 2, 8 * B, data="rising"),
    case("eight tiles, falling", "falling", 2, 8 * B, data="falling"),
    case("eight tiles, equal scores", "constant", 2, 8 * B, data="constant"),
    case("eight tiles and one key", "tail", 2, 8 * B + 1, 64),
    case("half precision", "fp16", 3, 2 * B + 1, 32, dtype="fp16"),
    case("heads side by side in memory", "strides", 3, B + 1, heads=2, batch=2, layout="interleaved"),
)

HIDDEN = (
    case("15 keys, negative", "negative", 2, B - 1, data="negative"),
    case("17 keys, negative", "negative", 2, B + 1, data="negative"),
    case("17 keys, positive", "tail", B + 1, B + 1, 128, data="mean3"),
    case("31 keys", "tail", B - 1, 2 * B - 1, 32),
    case("33 keys", "tail", 2, 2 * B + 1, 64),
    case("17 queries, one key", "queries", B + 1, 1),
    case("rising over 24 tiles", "rising", 3, 24 * B, 32, data="rising"),
    case("rising, a partial tile at the end", "rising", 2, 5 * B + 3, data="rising"),
    case("falling over 24 tiles", "falling", 2, 24 * B, data="falling"),
    case("falling, a partial tile at the end", "falling", 3, 3 * B + 1, 64, data="falling"),
    case("last tiles far lower", "cliff", 2, 8 * B, data="cliff"),
    case("first tiles far lower", "lift", 2, 8 * B, data="lift"),
    case("one key stands out", "spike", 4, 12 * B, 64, data="spike"),
    case("equal scores over many tiles", "constant", 2, 40 * B, data="constant"),
    case("near 300", "range", 3, 2 * B + 1, data="high"),
    case("near −400", "range", 2, 2 * B + 1, 32, data="low"),
    case("heads far apart", "heads", 2, 2 * B + 1, data="apart", heads=3),
    case("heads of different scale", "heads", 3, 3 * B + 3, 32, data="scales", batch=2, heads=2),
    case("two sequences, three heads", "heads", 2, B - 3, batch=2, heads=3),
    case("columns swapped in memory", "strides", B + 1, B + 1, 32, layout="transposed", heads=2),
    case("every other column", "strides", 3, 2 * B + 1, layout="sliced", batch=2),
    case("rows of a wider array, rising", "strides", 5, 4 * B + 1, layout="padded", heads=2, data="rising"),
    case("one key head shown for all", "strides", 3, B + 1, layout="shared", heads=3),
    case("one key past 512", "many", 2, PAST),
    case("2,000 keys, rising", "many", 1, 125 * B, data="rising"),
    case("half precision, rising", "fp16", 3, 8 * B + 1, 128, data="rising", dtype="fp16"),
    case("half precision, many tiles", "fp16", 2, 40 * B + 5, dtype="fp16"),
    case("half precision, a first key far ahead", "fp16", 4, 125 * B, data="ahead", dtype="fp16"),
    case("half precision, equal scores", "fp16", 2, 80 * B, data="constant", dtype="fp16"),
    case("half precision, columns swapped", "fp16", 3, B + 1, 64, dtype="fp16", layout="transposed"),
)

PROBES = tuple(
    replace(one, name=f"probe: {one.name}")
    for one in (
        case("rising", "rising", 1, 4 * B, data="rising"),
        case("normal", "tiles", 2, 3 * B + 1),
        case("constant", "constant", 1, 4 * B, data="constant"),
        case("negative", "negative", 2, 3 * B + 1, data="negative"),
        case("strided", "strides", 3, B + 1, layout="interleaved", batch=2, heads=2),
        case("half precision", "fp16", 2, 3 * B + 1, dtype="fp16"),
    )
)


def around(blocks: tuple[int, ...]) -> tuple[Case, ...]:
    """The same faults around the widest tile that was launched, up to 512 keys."""
    wide = max((block for block in blocks if B <= block <= 512), default=4 * B)
    near = (
        case("B−1 keys, negative", "negative", 1, wide - 1, data="negative"),
        case("B+1 keys, negative", "negative", 1, wide + 1, data="negative"),
        case("3B+1 keys, rising", "rising", 1, 3 * wide + 1, data="rising"),
        case("5B keys, first ones far lower", "lift", 1, 5 * wide, data="lift"),
        case("5B keys, last ones far lower", "cliff", 1, 5 * wide, data="cliff"),
        case("2B+1 keys, half precision", "fp16", 1, 2 * wide + 1, dtype="fp16"),
    )
    return tuple(replace(one, name=f"around: {one.name}", block=wide) for one in near)


def play(case: Case, rng: np.random.Generator) -> Play:
    dims = case.dims
    shape = AttentionShape(dims["batch"], dims["heads"], dims["heads"], dims["q"], dims["k"], dims["d"])
    inputs = attention_inputs(case.data, rng, shape, case.block)
    q, k, v = (place(part, case.dtype, lies) for part, lies in zip(inputs, layouts(case.layout), strict=True))
    yield Ask("attention", (q, k, v), (Output("result", q.shape, case.dtype, near_attention(case.dtype)),))


OF_VALUES = {
    "contiguous": "contiguous",
    "padded": "sliced",
    "sliced": "transposed",
    "transposed": "sliced",
    "interleaved": "transposed",
    "shared": "padded",
}


def layouts(name: str) -> tuple[str, str, str]:
    """Where q, k and v lie. v never has the strides of k, unless all are contiguous."""
    return ("contiguous" if name == "shared" else name), name, OF_VALUES[name]


def by_log_sum_exp(q: Values, k: Values, v: Values) -> Values:
    """The same function by another road: keys one by one, each moving the result by its share of the sum."""
    out = np.zeros(q.shape)
    total = np.full(q.shape[:-1], -np.inf)
    for j in range(k.shape[2]):
        score = np.einsum("bhid,bhd->bhi", q, k[:, :, j]) * q.shape[3] ** -0.5
        more = np.logaddexp(total, score)
        out = out * np.exp(total - more)[..., None] + np.exp(score - more)[..., None] * v[:, :, None, j]
        total = more
    return out


SUITE = Suite(
    axes=(
        Axis("batch", "sequence", "sequences"),
        Axis("heads", "head", "heads"),
        Axis("q", "query", "queries"),
        Axis("k", "key", "keys", tiled=True),
        Axis("d", "column", "columns", least=16, only=HEAD_DIMS),
    ),
    cases=(*(replace(one, visible=True) for one in VISIBLE), *HIDDEN),
    play=play,
    probes=PROBES,
    independent={"attention": by_log_sum_exp},
    around=around,
)
