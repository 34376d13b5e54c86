"""Cases for `packed_gqa_decode`: groups of every kind, caches of every length; loads are counted in all of them."""

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
HEAD_DIMS = (16, 32, 64, 128)


def case(
    name: str,
    family: str,
    kv_heads: int,
    group: int,
    k: int,
    d: int = 16,
    data: str = "normal",
    *,
    dtype: str = "fp32",
    layout: str = "contiguous",
) -> Case:
    dims = {"kv_heads": kv_heads, "group": group, "k": k, "d": d}
    return Case(name, family, dims, data, dtype, layout, block=B)


VISIBLE = (
    case("one head, one key", "single", 1, 1, 1),
    case("heads of their own", "single", 3, 1, B, 32),
    case("two key heads for four", "heads", 2, 2, B),
    case("two key heads for six", "heads", 2, 3, B + 1, 32),
    case("one key head for eight", "heads", 1, 8, 2 * B + 1, 64),
    case("a maximum that rises", "rising", 2, 4, 4 * B, data="rising"),
    case("half precision", "fp16", 2, 4, 2 * B + 1, 64, dtype="fp16"),
    case("a cache with room for more", "strides", 3, 2, B + 1, layout="padded"),
    case("long", "many", 2, 8, 20 * B + 5),
)

HIDDEN = (
    case("15 keys, negative", "negative", 2, 2, B - 1, data="negative"),
    case("17 keys, negative", "negative", 1, 3, B + 1, data="negative"),
    case("17 keys, positive", "tail", 1, 4, B + 1, 128, data="mean3"),
    case("31 keys", "tail", 2, 3, 2 * B - 1, 32),
    case("32 keys", "tiles", 2, 8, 2 * B),
    case("33 keys", "tail", 3, 2, 2 * B + 1, 64),
    case("3 keys", "tail", 2, 4, 3, 32),
    case("three key heads for six", "heads", 3, 2, B + 3),
    case("two key heads for eight", "heads", 2, 4, B + 3, 32),
    case("two key heads for twelve", "heads", 2, 6, B + 1),
    case("four key heads for eight", "heads", 4, 2, 7),
    case("nine key heads for eighteen", "heads", 9, 2, B + 3),
    case("one shape, three times", "again", 2, 2, B + 1),
    case("one key head for twenty", "wide", 1, 20, B + 5),
    case("two key heads for 34", "wide", 2, 17, 2 * B + 1, 32),
    case("rising over nine tiles", "rising", 2, 4, 8 * B + 1, 32, data="rising"),
    case("falling", "falling", 2, 3, 5 * B + 1, data="falling"),
    case("last tiles far lower", "cliff", 1, 4, 8 * B, data="cliff"),
    case("first tiles far lower", "lift", 1, 4, 8 * B, data="lift"),
    case("one key stands out", "spike", 2, 4, 9 * B, 64, data="spike"),
    case("equal scores over many tiles", "constant", 1, 4, 33 * B + 7, data="constant"),
    case("near 300", "range", 1, 8, 2 * B + 1, data="high"),
    case("near −400", "range", 2, 12, 2 * B + 1, data="low"),
    case("key heads far apart", "heads", 3, 2, 2 * B + 1, data="apart"),
    case("key heads of different scale", "heads", 4, 3, 2 * B + 1, 32, data="scales"),
    case("columns swapped in memory", "strides", 2, 3, B + 1, 32, layout="transposed"),
    case("every other column", "strides", 2, 4, 2 * B + 1, layout="sliced"),
    case("key heads side by side in memory", "strides", 3, 4, B + 3, layout="interleaved"),
    case("one key head shown for all", "strides", 3, 2, B + 1, layout="shared"),
    case("room for more, rising", "strides", 2, 4, 4 * B + 1, 64, data="rising", layout="padded"),
    case("2,000 keys", "many", 1, 4, 125 * B),
    case("half precision, rising", "fp16", 2, 3, 8 * B + 1, 128, data="rising", dtype="fp16"),
    case("half precision, many tiles", "fp16", 1, 8, 40 * B + 5, dtype="fp16"),
    case("half precision, equal scores", "fp16", 1, 4, 80 * B, data="constant", dtype="fp16"),
    case("half precision, a first key far ahead", "fp16", 1, 12, 125 * B, data="ahead", dtype="fp16"),
    case("half precision, columns swapped", "fp16", 2, 6, B + 1, 64, dtype="fp16", layout="transposed"),
)

PROBES = tuple(
    replace(one, name=f"probe: {one.name}")
    for one in (
        case("normal", "tiles", 2, 3, 3 * B + 1),
        case("rising", "rising", 1, 2, 4 * B, data="rising"),
        case("negative", "negative", 2, 2, 3 * B + 1, data="negative"),
        case("wide group", "wide", 1, 20, B + 1),
        case("strided", "strides", 3, 2, B + 1, layout="interleaved"),
        case("half precision", "fp16", 2, 2, 3 * B + 1, dtype="fp16"),
    )
)


def around(blocks: tuple[int, ...]) -> tuple[Case, ...]:
    """The same faults around the widest tile that was launched, up to 256 keys."""
    wide = max((block for block in blocks if B <= block <= 256), default=4 * B)
    near = (
        case("B−1 keys, negative", "negative", 1, 2, wide - 1, data="negative"),
        case("B+1 keys, negative", "negative", 1, 3, wide + 1, data="negative"),
        case("3B+1 keys, rising", "rising", 2, 3, 3 * wide + 1, data="rising"),
        case("5B keys, first ones far lower", "lift", 1, 4, 5 * wide, data="lift"),
        case("5B keys, last ones far lower", "cliff", 1, 4, 5 * wide, data="cliff"),
        case("2B+1 keys, half precision", "fp16", 2, 4, 2 * wide + 1, dtype="fp16"),
    )
    return tuple(replace(one, name=f"around: {one.name}", block=wide) for one in near)


OF_VALUES = {  # v never has the strides of k, unless both are contiguous
    "contiguous": "contiguous",
    "padded": "sliced",
    "sliced": "transposed",
    "transposed": "sliced",
    "interleaved": "transposed",
    "shared": "padded",
}


def play(case: Case, rng: np.random.Generator) -> Play:
    dims = case.dims
    heads = dims["kv_heads"] * dims["group"]
    shape = AttentionShape(1, heads, dims["kv_heads"], 1, dims["k"], dims["d"])
    for _ in range(3 if case.family == "again" else 1):  # other numbers where the last ones lay
        q, k, v = attention_inputs(case.data, rng, shape, case.block)
        if case.data in ("normal", "high", "low"):  # the heads of a group differ in size
            q = q * np.tile(np.geomspace(0.5, 2.0, dims["group"]), dims["kv_heads"])[:, None, None]
        of_q = case.layout if case.layout in ("padded", "sliced", "transposed") else "contiguous"
        args = (
            place(q[0, :, 0], case.dtype, of_q),
            place(k[0], case.dtype, case.layout),
            place(v[0], case.dtype, OF_VALUES[case.layout]),
        )
        yield Ask("decode", args, (Output("result", (heads, dims["d"]), case.dtype, near_attention(case.dtype)),))


def by_log_sum_exp(q: Values, k: Values, v: Values) -> Values:
    """The same function by another road: head by head, weights exp(s − logsumexp)."""
    out = np.empty(q.shape)
    for head, query in enumerate(q):
        kv = head * k.shape[0] // q.shape[0]
        scores = np.einsum("jd,d->j", k[kv], query) * q.shape[1] ** -0.5
        out[head] = np.exp(scores - np.logaddexp.reduce(scores)) @ v[kv]
    return out


SUITE = Suite(
    axes=(
        Axis("kv_heads", "key head", "key heads"),
        Axis("group", "query head each", "query heads each"),
        Axis("k", "key", "keys", tiled=True),
        Axis("d", "column", "columns", least=16, only=HEAD_DIMS),
    ),
    cases=(*(replace(one, visible=True) for one in VISIBLE), *HIDDEN),
    play=play,
    probes=PROBES,
    independent={"decode": by_log_sum_exp},
    around=around,
)
