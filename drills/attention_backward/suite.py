"""Cases for `attention_backward`: lengths around a tile of 64, causal and not, and two so long that memory shows.

The forward pass is computed here in float64; the learner's code gets `o` and `lse` rounded to fp32, and so does the
reference, so that their rounding is nobody's error.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

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

B = 64
LONG = 2560  # an S×S matrix takes 25 MiB there in fp32, and 6.25 MiB in bytes
RAGGED = 2529  # as much, and no multiple of a tile
MEDIUM = 1300  # 6.4 MiB in fp32
GROWTH = 4 << 20  # bytes that memory may grow by at that length
UNIT = DTYPES["fp32"].epsilon / 2
TINY = DTYPES["fp32"].tiny


def case(name: str, family: str, length: int, depth: int = 8, *, causal: bool = True, **more: object) -> Case:
    return Case(name, f"{family}{'' if causal else ', full'}", {"length": length, "depth": depth}, block=B, **more)  # type: ignore[arg-type]


CASES = (
    case("two tokens, not causal", "small", 2, 1, causal=False, visible=True),
    case("five tokens", "small", 5, visible=True),
    case("one tile, not causal", "tiles", B, causal=False, visible=True),
    case("one past a tile", "tail", B + 1, visible=True),
    case("transposed views", "strides", 40, layout="transposed", visible=True),
    case("2560 tokens", "memory", LONG, causal=False, visible=True),
    case("one token", "small", 1, 4),
    case("less than a tile", "tail", B - 1),
    case("one tile", "tiles", B),
    case("one past a tile, not causal", "tail", B + 1, causal=False),
    case("two tiles less one", "tail", 2 * B - 1, 16),
    case("two tiles", "tiles", 2 * B, 16, causal=False),
    case("three tiles and one", "tail", 3 * B + 1, 24),
    case("three tiles and one, not causal", "tail", 3 * B + 1, causal=False),
    case("depth 64", "depth", B + 3, 64),
    case("depth 1", "depth", 30, 1),
    case("scores near 300", "range", 40, data="high"),
    case("scores near −400", "range", 40, data="low", causal=False),
    case("sharp rows", "spike", 2 * B + 5, data="spike"),
    case("rows apart", "strides", B + 9, layout="padded"),
    case("columns apart", "strides", B + 9, layout="sliced", causal=False),
    case("2529 tokens, causal", "memory", RAGGED),
    case("1300 tokens", "memory", MEDIUM, causal=False),
    case("keys to come score far higher", "range", B + 8, data="rising"),
)


def play(case: Case, rng: np.random.Generator) -> Play:
    causal = not case.family.endswith("full")
    q, k, v, do = (place(values, "fp32", case.layout) for values in drawn(case, rng))
    o, lse = forward(q.values, k.values, v.values, causal)
    spaced = "contiguous" if case.layout == "contiguous" else "sliced"
    args = (q, k, v, place(o, "fp32", case.layout), place(lse, "fp32", spaced), do)
    peak = GROWTH if case.family.startswith("memory") else None
    outputs = gradients(args, causal) if peak is None else roughly(args)
    yield Ask("backward", (*args, causal), outputs, peak_bytes=peak)


def drawn(case: Case, rng: np.random.Generator) -> list[Values]:
    """q, k, v and do; queries and keys share a part that puts all scores where the case wants them."""
    shape = case.dims["length"], case.dims["depth"]
    q, k, v, do = (rng.standard_normal(shape) for _ in range(4))
    if case.data in ("high", "low"):
        level = build(case.data, rng, (1, 1), 1)[0, 0] * np.sqrt(shape[1])
        q[:, 0], k[:, 0] = np.sign(level) * abs(level) ** 0.5, abs(level) ** 0.5
    if case.data == "spike":
        q *= 3.0
    if case.data == "rising":  # exp(s − lse) of a key that is not seen is infinite
        q[:, 0], k[:, 0] = np.sqrt(shape[1]), np.linspace(0.0, 300.0, shape[0])
    if shape[0] == 1:  # whole numbers, so that dP − δ is zero to the last bit
        q, k, v, do = (np.rint(4 * values) for values in (q, k, v, do))
    return [q, k, v + 0.5, do + 0.25]


def forward(q: Values, k: Values, v: Values, causal: bool, strip: int = 256) -> tuple[Values, Values]:
    """Output and log-sum-exp, a strip of queries at a time."""
    outs, sums = [], []
    for start in range(0, len(q), strip):
        scores = q[start : start + strip] @ k.T / np.sqrt(q.shape[1])
        if causal:
            scores[np.arange(len(k))[None, :] > np.arange(start, start + len(scores))[:, None]] = -np.inf
        top = scores.max(axis=1, keepdims=True)
        weights = np.exp(scores - top)
        total = weights.sum(axis=1, keepdims=True)
        outs.append(weights @ v / total)
        sums.append((top + np.log(total))[:, 0])
    return np.concatenate(outs), np.concatenate(sums)


def gradients(args: tuple[Placed, ...], causal: bool) -> tuple[Output, Output, Output]:
    """The three outputs, each with what fp32 may cost: the sizes of all terms that were added up."""
    q, k, v, o, lse, do = (np.abs(argument.values) for argument in args)
    depth = q.shape[1]
    reach = float(lse.max() + (np.linalg.norm(q, axis=1).max() * np.linalg.norm(k, axis=1).max()) / np.sqrt(depth))
    relative = 20 * UNIT * (8 + np.log2(len(q)) + np.log2(depth + 1) + reach)
    dq, dk, dv = (np.zeros_like(q) for _ in range(3))
    for start in range(0, len(q), 256):
        rows = slice(start, start + 256)
        scores = args[0].values[rows] @ args[1].values.T / np.sqrt(depth) - args[4].values[rows, None]
        if causal:
            scores[np.arange(len(k))[None, :] > np.arange(start, start + len(scores))[:, None]] = -np.inf
        p = np.exp(scores)
        ds = p * (do[rows] @ v.T + (do * o).sum(axis=1)[rows, None]) / np.sqrt(depth)
        dq[rows] = ds @ k
        dk += ds.T @ q[rows]
        dv += p.T @ do[rows]
    return tuple(  # type: ignore[return-value]
        Output(name, size.shape, "fp32", within(relative, size))
        for name, size in (("dq", dq), ("dk", dk), ("dv", dv))
    )


def roughly(args: tuple[Placed, ...]) -> tuple[Output, Output, Output]:
    """The outputs where memory is measured: the largest gradient stands for the size of all terms."""
    shape = args[0].shape
    return (
        Output("dq", shape, "fp32", within(4e-5, None)),
        Output("dk", shape, "fp32", within(4e-5, None)),
        Output("dv", shape, "fp32", within(4e-5, None)),
    )


def within(relative: float, scale: Values | None) -> Callable[[Values, Sequence[Values]], Tolerance]:
    def near(expected: Values, inputs: Sequence[Values]) -> Tolerance:
        return tolerance(
            expected,
            relative=relative,
            absolute=TINY,
            dtype="fp32",
            scale=np.full(expected.shape, np.abs(expected).max()) if scale is None else scale,
            because=(
                "fp32 arithmetic: a score errs by a unit of its size, exp turns that into a relative error of its "
                "weight, dP − δ is a difference of terms whose sizes count; ten times what correct code showed."
            ),
        )

    return near


def backward_by_keys(
    q: Values, k: Values, v: Values, o: Values, lse: Values, do: Values, causal: bool
) -> tuple[Values, Values, Values]:
    """The same by strips of keys, the softmax's gradient written with dv first."""
    depth = q.shape[1]
    dq, dk, dv = np.zeros_like(q), np.zeros_like(k), np.zeros_like(v)
    shift = np.einsum("id,id->i", do, o)
    for start in range(0, len(k), 512):
        cols = np.arange(start, min(start + 512, len(k)))
        first = start if causal else 0
        log_p = np.einsum("jd,id->ij", k[cols], q[first:], optimize=True) / depth**0.5 - lse[first:, None]
        if causal:
            log_p = np.where(np.arange(first, len(q))[:, None] >= cols[None, :], log_p, -np.inf)
        p = np.exp(log_p)
        dv[cols] = p.T @ do[first:]
        ds = p * (do[first:] @ v[cols].T) - p * shift[first:, None]
        dq[first:] += ds @ k[cols] / depth**0.5
        dk[cols] = ds.T @ q[first:] / depth**0.5
    return dq, dk, dv


SUITE = Suite(
    axes=(Axis("depth", "dimension", "dimensions"), Axis("length", "token", "tokens", tiled=True)),
    cases=CASES,
    play=play,
    probes=tuple(
        replace(c, name=f"probe: {c.name}", visible=True)
        for c in (
            case("causal", "tail", 3 * B + 1),
            case("full", "tail", 3 * B + 1, causal=False),
            case("high", "range", B + 1, data="high"),
            case("strided", "strides", B + 1, layout="transposed"),
        )
    ),
    independent={"backward": backward_by_keys},
)
