"""Cases for `fp8_attention`: keys with channels of large common offset, in several sizes and layouts.

The tolerance is measured, not modelled: plain quantisation is run on the very inputs of the case.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from grader.kit import Ask, Axis, Case, Output, Play, Suite, Tolerance, Values, e4m3, place, pooled

LARGEST = 448.0  # of E4M3
LARGE, SPREAD = 4, 3.0  # channels with an offset, and the deviation of keys around it
FLOOR = 0.026  # of the output's size: rounding values alone makes about 0.0265, all four operands 0.033 and more


def case(name: str, family: str, tokens: int, depth: int = 64, **more: object) -> Case:
    return Case(name, family, {"tokens": tokens, "depth": depth}, **more)  # type: ignore[arg-type]


CASES = (
    case("64 tokens", "offset", 64, visible=True),
    case("depth 32", "offset", 64, 32, visible=True),
    case("rows apart", "strides", 48, layout="padded", visible=True),
    case("24 tokens", "offset", 24, 32),
    case("128 tokens", "offset", 128),
    case("depth 128", "depth", 96, 128),
    case("300 tokens, depth 32", "many", 300, 32),
    case("1024 tokens", "many", 1024, 32),
    case("an odd number", "offset", 77),
    case("transposed", "strides", 64, 32, layout="transposed"),
    case("columns apart", "strides", 65, layout="sliced"),
)


def play(case: Case, rng: np.random.Generator) -> Play:
    shape = case.dims["tokens"], case.dims["depth"]
    q, k, v = (rng.standard_normal(shape) for _ in range(3))
    channels = rng.choice(shape[1], size=LARGE, replace=False)
    # Spread over more than a step of E4M3: else all keys of a channel may round alike, unseen by softmax.
    k[:, channels] = SPREAD * k[:, channels] + rng.uniform(80, 140, LARGE) * rng.choice([-1.0, 1.0], LARGE)
    args = tuple(place(values, "fp32", case.layout) for values in (q, k, v))
    allowed = a_third_of(plain(*(argument.values for argument in args)))
    yield Ask("attention_fp8", args, (Output("o", shape, "fp32", allowed),))


def plain(q: Values, k: Values, v: Values) -> Values:
    """What the statement calls plain quantisation."""
    q, k, v = (e4m3(x / (np.abs(x).max() / LARGEST)) * (np.abs(x).max() / LARGEST) for x in (q, k, v))
    scores = q @ k.T / np.sqrt(q.shape[1])
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(e4m3(weights) @ v / weights.sum(axis=1, keepdims=True))


def a_third_of(quantised: Values) -> Callable[[Values, Sequence[Values]], Tolerance]:
    def near(expected: Values, inputs: Sequence[Values]) -> Tolerance:
        return pooled(
            expected,
            allowed=float(np.sqrt(np.mean((quantised - expected) ** 2))) / 3,
            least=FLOOR * float(np.sqrt(np.mean(expected**2))),
            dtype="fp32",
            because=(
                "the contract asks for a third of the error of plain quantisation on the same inputs, and not "
                "for less than four significant bits can give"
            ),
        )

    return near


def attention_by_logarithms(q: Values, k: Values, v: Values) -> Values:
    """Exact attention by another road: log-sum-exp of centred scores."""
    scores = np.einsum("id,jd->ij", q, k - k.mean(axis=0), optimize=True) / q.shape[1] ** 0.5
    return np.asarray(np.exp(scores - np.logaddexp.reduce(scores, axis=1, keepdims=True)) @ v)


SUITE = Suite(
    axes=(Axis("depth", "dimension", "dimensions", least=16), Axis("tokens", "token", "tokens", least=16)),
    cases=CASES,
    play=play,
    probes=tuple(
        replace(c, name=f"probe: {c.name}", visible=True)
        for c in (case("offset", "offset", 64), case("strided", "strides", 48, layout="padded"))
    ),
    independent={"attention_fp8": attention_by_logarithms},
)
