"""Cases for `online_softmax_tile`: tiles of 16 keys handed over one by one, every state checked on the way.

`cols` counts all keys of a case; the last tile holds what is left. The state that goes into a call is the one that
the learner's code returned, so that no error hides behind an earlier one.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from grader.kit import DTYPES, Ask, Axis, Case, Output, Play, Suite, Tolerance, Values, build, place, tolerance

B = 16
UNIT = DTYPES["fp32"].epsilon / 2
TINY = DTYPES["fp32"].tiny


def case(name: str, family: str, rows: int, cols: int, depth: int = 8, **more: object) -> Case:
    return Case(name, family, {"rows": rows, "cols": cols, "depth": depth}, block=B, **more)  # type: ignore[arg-type]


CASES = (
    case("one key", "single", 2, 1, visible=True),
    case("one tile", "single", 3, B, visible=True),
    case("two tiles", "tiles", 3, 2 * B, visible=True),
    case("a maximum that rises", "rising", 2, 3 * B, data="rising", visible=True),
    case("a row without keys", "blind", 3, B + 1, visible=True),
    case("strided views", "strides", 3, 2 * B, layout="transposed", visible=True),
    case("less than a tile", "single", 3, B - 1),
    case("one past a tile", "tail", 3, B + 1),
    case("rising over many tiles", "rising", 2, 9 * B + 1, data="rising"),
    case("falling over many tiles", "falling", 2, 6 * B, data="falling"),
    case("last tiles far lower", "cliff", 2, 8 * B, data="cliff"),
    case("first tiles far lower", "lift", 2, 8 * B, data="lift"),
    case("near 300", "range", 2, 5 * B, data="high"),
    case("near −400", "range", 2, 5 * B, data="low"),
    case("near −20,000", "range", 2, 5 * B, data="deep"),
    case("rows far apart", "rows", 4, 5 * B, data="apart"),
    case("rows of different scale", "rows", 5, 4 * B, data="scales"),
    case("one key stands out", "spike", 3, 6 * B, data="spike"),
    case("equal scores", "constant", 2, 4 * B, data="constant"),
    case("holes of −∞", "infinite", 3, 5 * B, data="holes"),
    case("first half hidden", "infinite", 3, 6 * B, data="late"),
    case("rows without keys, many tiles", "blind", 5, 4 * B + 3),
    case("a row seen late, near −20,000", "blind", 4, 4 * B, data="deep"),
    case("hidden tiles between and after", "gaps", 4, 5 * B + 3),
    case("hidden tiles, rising", "gaps", 4, 4 * B, data="rising"),
    case("two sequences by turns", "turns", 3, 3 * B + 5),
    case("strided, rising", "strides", 3, 6 * B, data="rising", layout="padded"),
    case("many tiles", "many", 2, 24 * B + 5),
    case("one row, one column of values", "single", 1, 3 * B + 1, 1),
)


def play(case: Case, rng: np.random.Generator) -> Play:
    rows, cols, depth = case.dims["rows"], case.dims["cols"], case.dims["depth"]
    drawn = [draw(case, rng) for _ in range(2 if case.family == "turns" else 1)]
    state: tuple[Values, ...] = (np.full(rows, -np.inf), np.zeros(rows), np.zeros((rows, depth)))
    states = [state for _ in drawn]
    spaced = "contiguous" if case.layout == "contiguous" else "sliced"
    for start in range(0, cols, case.block):
        tile = slice(start, start + case.block)
        for i, (scores, values) in enumerate(drawn):
            args = (
                *(place(part, "fp32", spaced) for part in states[i]),
                place(scores[:, tile], "fp32", case.layout),
                place(values[tile], "fp32", case.layout),
            )
            outputs = after(args[0].values, *(a.values for a in args[1:]))
            reply = yield Ask("update", args, outputs, reuse=(0, 1, 2))
            states[i] = reply.outputs
    for state in states:
        args = tuple(place(part, "fp32", spaced) for part in state)
        out = Output("out", (rows, depth), "fp32", divided, wider=True)
        yield Ask("finish", args, (out,), reuse=(0, 1, 2))


def draw(case: Case, rng: np.random.Generator) -> tuple[Values, Values]:
    """Scores and values of one sequence."""
    rows, cols, depth = case.dims["rows"], case.dims["cols"], case.dims["depth"]
    scores = build(case.data, rng, (rows, cols), case.block)
    values = rng.standard_normal((cols, depth)) + 1.0
    if case.family == "blind" and rows > 1:
        scores[0] = -np.inf  # never sees a key
        scores[-1, : cols // 2] = -np.inf  # sees its first key late
    if case.family == "gaps":
        scores[0, case.block : 3 * case.block] = -np.inf  # has seen keys, sees none for two tiles, and goes on
        scores[1, case.block :] = -np.inf  # sees the keys of the first tile only
        scores[2, 2 * case.block - 1 :] = -np.inf
    return scores, values


def after(m: Values, l: Values, acc: Values, scores: Values, values: Values) -> tuple[Output, ...]:
    """The three outputs of `update`, each with what fp32 may cost: sizes of the terms, not of their sum."""
    new = np.maximum(m, scores.max(axis=1))
    base = np.where(np.isneginf(new), 0.0, new)
    old, weights = np.exp(m - base), np.exp(scores - base[:, None])
    finite = np.where(np.isfinite(scores), np.abs(scores), 0.0).max(axis=1)
    reach = np.maximum(finite, np.where(np.isfinite(m), np.abs(m), 0.0))
    terms = 12 * UNIT * (6 + np.log2(1 + scores.shape[1]) + reach)
    whole = old[:, None] * np.abs(acc) + weights @ np.abs(values)

    def near(name: str, shape: tuple[int, ...], relative: object, scale: Values | None = None) -> Output:
        return Output(name, shape, "fp32", allowed(relative, scale), wider=True)  # type: ignore[arg-type]

    return (
        near("m", m.shape, UNIT),
        near("l", l.shape, terms),
        near("acc", acc.shape, terms[:, None], whole),
    )


def allowed(relative: Values, scale: Values | None) -> Callable[[Values, Sequence[Values]], Tolerance]:
    def near(expected: Values, inputs: Sequence[Values]) -> Tolerance:
        return tolerance(
            expected,
            relative=relative,
            absolute=TINY,
            dtype="fp32",
            scale=scale,
            because=(
                "fp32 arithmetic: s·log₂e and s − m cost a unit of |s| in base two, exp and the rescale two units "
                "each, a sum of C terms log₂ C when it is paired; the factor 12 leaves ten times what correct code "
                "showed."
            ),
        )

    return near


def divided(expected: Values, inputs: Sequence[Values]) -> Tolerance:
    return tolerance(
        expected,
        relative=24 * UNIT,
        absolute=TINY,
        dtype="fp32",
        because="one division, or a reciprocal and a product: three roundings of fp32, and eight times that",
    )


def update_by_key(
    m: Values, l: Values, acc: Values, scores: Values, values: Values
) -> tuple[Values, Values, Values]:
    """The same step by another road: unnormalised logarithms, one key at a time."""
    with np.errstate(divide="ignore"):
        log_l = m + np.log(l)
    new = m.copy()
    out = np.divide(acc, l[:, None], out=np.zeros_like(acc), where=l[:, None] > 0)
    for j in range(scores.shape[1]):
        total = np.logaddexp(log_l, scores[:, j])
        share = np.exp(scores[:, j] - np.where(np.isneginf(total), 0.0, total))
        keep = np.exp(log_l - np.where(np.isneginf(total), 0.0, total))
        out = keep[:, None] * out + share[:, None] * values[j]
        log_l, new = total, np.maximum(new, scores[:, j])
    sums = np.exp(log_l - np.where(np.isneginf(new), 0.0, new))
    return new, sums, out * sums[:, None]


def finish_by_row(m: Values, l: Values, acc: Values) -> Values:
    return np.stack([row / total if total else 0.0 * row for row, total in zip(acc, l, strict=True)])


SUITE = Suite(
    axes=(
        Axis("rows", "row", "rows"),
        Axis("cols", "key", "keys", tiled=True),
        Axis("depth", "value column", "value columns"),
    ),
    cases=CASES,
    play=play,
    probes=tuple(
        replace(c, name=f"probe: {c.name}", visible=True)
        for c in (
            case("rising", "rising", 2, 3 * B + 1, data="rising"),
            case("normal", "tiles", 2, 3 * B + 1),
            case("blind", "blind", 3, 3 * B + 1),
            case("strided", "strides", 3, 3 * B + 1, layout="transposed"),
        )
    ),
    independent={"update": update_by_key, "finish": finish_by_row},
)
