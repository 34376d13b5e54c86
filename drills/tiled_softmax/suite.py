"""Cases for `tiled_softmax`: lengths around a tile of 64, and every kind of row that a known fault needs to show.

Rows are few, since the CPU lane pays for each program and tile; each case says in a word what it is there for.
"""

from collections.abc import Sequence

import numpy as np

from grader.kit import (
    DTYPES,
    Ask,
    Axis,
    Case,
    Fresh,
    Output,
    Part,
    Play,
    Suite,
    Timed,
    Tolerance,
    Values,
    build,
    lengths,
    place,
    tile_block,
    tolerance,
)

B = 64
AT = lengths(B)
MANY = 33 * B + 7  # past 1024 and 2048, where fixed tiles end


def case(name: str, family: str, rows: int, cols: int, data: str = "normal", **more: object) -> Case:
    return Case(name, family, {"rows": rows, "cols": cols}, data, block=B, **more)  # type: ignore[arg-type]


VISIBLE = tuple(
    case(*row, visible=True, **more)  # type: ignore[arg-type]
    for *row, more in (
        ("one element", "single", 1, AT["1"], {}),
        ("three short rows", "single", 3, 8, {}),
        ("exactly one tile", "single", 2, AT["B"], {}),
        ("one past a tile", "tail", 2, AT["B+1"], {}),
        ("three tiles and one", "tiles", 2, AT["3B+1"], {}),
        ("a maximum that rises", "rising", 2, AT["2B+1"], "rising", {}),
        ("rows of a wider matrix", "strides", 3, 40, "normal", {"layout": "padded"}),
        ("half precision", "fp16", 2, AT["B+1"], "normal", {"dtype": "fp16"}),
        ("bfloat16", "bf16", 2, AT["B+1"], "normal", {"dtype": "bf16"}),
    )
)

HIDDEN = tuple(
    case(*row, **more)  # type: ignore[arg-type]
    for *row, more in (
        ("tail of 63, negative", "negative", 2, AT["B−1"], "negative", {}),
        ("tail of 1, negative", "negative", 2, AT["B+1"], "negative", {}),
        ("tail of 1, positive", "tail", 1, AT["B+1"], "mean3", {}),
        ("two tiles less one", "tail", 2, AT["2B−1"], {}),
        ("two tiles", "tiles", 2, AT["2B"], {}),
        ("two tiles and one", "tail", 1, AT["2B+1"], {}),
        ("rising over nine tiles", "rising", 1, 8 * B + 1, "rising", {}),
        ("falling", "falling", 2, AT["3B+1"], "falling", {}),
        ("last tile far lower", "cliff", 1, 5 * B, "cliff", {}),
        ("first tile far lower", "lift", 1, 5 * B, "lift", {}),
        ("spike", "spike", 2, AT["3B+1"], "spike", {}),
        ("constant rows", "constant", 2, AT["2B+1"], "constant", {}),
        ("near 300", "range", 1, AT["B+1"], "high", {}),
        ("near −400", "range", 1, AT["B+1"], "low", {}),
        ("near −20,000", "range", 1, AT["B+1"], "deep", {}),
        ("rows far apart", "rows", 3, 40, "apart", {}),
        ("rows of different scale", "rows", 5, 33, "scales", {}),
        ("three hundred rows", "rows", 300, 5, "normal", {}),
        ("one shape, three times", "again", 2, AT["B+1"], "normal", {}),
        ("holes of −∞", "infinite", 2, AT["2B+1"], "holes", {}),
        ("first tile all −∞", "infinite", 2, AT["3B+1"], "late", {}),
        ("padded rows over tiles", "strides", 2, AT["2B+1"], "rising", {"layout": "padded"}),
        ("one row expanded", "strides", 3, AT["B+1"], "normal", {"layout": "expanded"}),
        ("many tiles", "many", 1, MANY, "normal", {}),
        ("many tiles, half precision", "fp16", 1, MANY, "normal", {"dtype": "fp16"}),
        ("half precision, rising", "fp16", 1, AT["3B+1"], "rising", {"dtype": "fp16"}),
        ("half precision, negative", "fp16", 2, AT["B+1"], "negative", {"dtype": "fp16"}),
        ("bfloat16, rising", "bf16", 2, AT["3B+1"], "rising", {"dtype": "bf16"}),
        ("bfloat16, many tiles", "bf16", 1, MANY, "normal", {"dtype": "bf16"}),
    )
)

# For the GPU lane alone: sizes that an interpreter would take minutes for.
LARGE = (
    case("many rows", "large", 4099, 257, "rising", visible=True),
    case("long rows, half precision", "large", 251, 8195, "normal", dtype="fp16"),
    case("long rows, bfloat16", "large", 131, 12_000, "normal", dtype="bf16"),
    case("many padded rows", "large", 1023, 1031, "lift", layout="padded"),
)

PROBES = (
    case("probe: rising", "rising", 2, AT["3B+1"], "rising"),
    case("probe: normal", "tiles", 2, AT["3B+1"]),
    case("probe: falling", "falling", 2, AT["3B+1"], "falling"),
    case("probe: whole tiles", "tiles", 2, 3 * B, "rising"),
    case("probe: negative", "negative", 2, AT["3B+1"], "negative"),
    case("probe: strided", "strides", 3, AT["B+1"], "normal", layout="padded"),
    case("probe: half precision", "fp16", 2, AT["3B+1"], "normal", dtype="fp16"),
)


def around(blocks: tuple[int, ...]) -> tuple[Case, ...]:
    """The same faults around the tile that was launched: where it ends, and with data that changes tile by tile."""
    block = tile_block(blocks, 4 * MANY) or B
    near = (
        ("B−1", "negative", 1, block - 1, "negative", {}),
        ("B+1", "negative", 1, block + 1, "negative", {}),
        ("2B−1, rising", "rising", 1, 2 * block - 1, "rising", {}),
        ("3B+1, first tile −∞", "infinite", 1, 3 * block + 1, "late", {}),
        ("5B, first tile far lower", "lift", 1, 5 * block, "lift", {}),
        ("5B, last tile far lower", "cliff", 1, 5 * block, "cliff", {}),
        ("4B+1, padded rows", "strides", 2, 4 * block + 1, "rising", {"layout": "padded"}),
        ("2B+1, half precision", "fp16", 1, 2 * block + 1, "normal", {"dtype": "fp16"}),
    )
    return tuple(case(f"around: {name}", *row, **more) for name, *row, more in near)  # type: ignore[arg-type]


def play(case: Case, rng: np.random.Generator) -> Play:
    rows, cols = case.dims["rows"], case.dims["cols"]
    for _ in range(3 if case.family == "again" else 1):  # other numbers where the last ones lay
        x = place(build(case.data, rng, (rows, cols), case.block), case.dtype, case.layout)
        yield Ask("softmax", (x,), (Output("result", (rows, cols), case.dtype, near(case.dtype), tiled_axis=1),))


FULL = (8192, 8192)
ROWS_LOOKED_AT = 16


def some_rows(rng: np.random.Generator) -> Part:
    """A few rows of the full-size call: each row stands alone."""
    start = int(rng.integers(0, FULL[0] - ROWS_LOOKED_AT + 1))
    piece = (slice(start, start + ROWS_LOOKED_AT), slice(0, FULL[1]))
    return Part(args=(piece,), outputs=(piece,))


def near(dtype: str) -> object:
    """The tolerance for results of `dtype`: the same for all, since all are computed in fp32 and rounded once."""

    def allowed(expected: Values, inputs: Sequence[Values]) -> Tolerance:
        (x,) = inputs
        size = np.where(np.isfinite(x), np.abs(x), 0.0).max(axis=-1, keepdims=True)
        unit = DTYPES["fp32"].epsilon / 2
        return tolerance(
            expected,
            relative=24 * unit * (8 + np.log2(x.shape[-1] + 1) + size),
            absolute=DTYPES["fp32"].tiny,
            dtype=dtype,
            because=(
                "fp32 arithmetic: x·log₂e and x − m cost a few units of |x|, exp two units, each rescale and sum a "
                "unit a tile; the factor 24 leaves ten times what correct kernels showed. Below the smallest "
                "normal fp32 number a GPU may flush to zero."
            ),
        )

    return allowed


def by_log_sum_exp(x: Values) -> Values:
    """The same function by another road: ``exp(x − logsumexp(x))``, the sum folded pair by pair."""
    return np.exp(x - np.logaddexp.reduce(x, axis=-1, keepdims=True))


SUITE = Suite(
    axes=(Axis("rows", "row", "rows"), Axis("cols", "column", "columns", tiled=True)),
    cases=VISIBLE + HIDDEN,
    play=play,
    probes=PROBES,
    independent={"softmax": by_log_sum_exp},
    around=around,
    gpu_cases=LARGE,
    timed=Timed(
        entry="softmax",
        args=(Fresh(FULL, "fp32", spread=2.0),),
        outputs=(Output("result", FULL, "fp32", near("fp32"), tiled_axis=1),),
        part=some_rows,
        words=f"{FULL[0]} rows × {FULL[1]} columns, fp32",
    ),
)
