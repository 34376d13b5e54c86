"""Six cases; the hidden ones go where the visible ones do not."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from grader.kit import DTYPES, Ask, Axis, Case, Output, Play, Suite, Tolerance, Values, build, place, tolerance


def case(
    name: str,
    family: str,
    rows: int,
    cols: int,
    data: str = "normal",
    layout: str = "contiguous",
    visible: bool = False,
) -> Case:
    return Case(name, family, {"rows": rows, "cols": cols}, data, layout=layout, visible=visible, block=16)


def near(expected: Values, inputs: Sequence[Values]) -> Tolerance:
    return tolerance(
        expected,
        relative=1e-5 * (1 + np.abs(inputs[0]).max()),
        absolute=DTYPES["fp32"].tiny,
        dtype="fp32",
        because="fp32: a few units of the largest score, and ten times that",
    )


def play(case: Case, rng: np.random.Generator) -> Play:
    shape = (case.dims["rows"], case.dims["cols"])
    x = place(build(case.data, rng, shape, case.block), case.dtype, case.layout)
    yield Ask("softmax", (x,), (Output("result", shape, case.dtype, near, tiled_axis=1),))


def by_log_sum_exp(x: Values) -> Any:
    return np.exp(x - np.logaddexp.reduce(x, axis=-1, keepdims=True))


SUITE = Suite(
    axes=(Axis("rows", "row", "rows"), Axis("cols", "column", "columns", tiled=True)),
    cases=(
        case("one tile", "single", 2, 16, visible=True),
        case("one past a tile", "tail", 2, 17, visible=True),
        case("near 300", "range", 3, 49, "high"),
        case("strided", "strides", 3, 15, layout="padded"),
        case("negative", "negative", 1, 33, "negative"),
    ),
    play=play,
    probes=(case("probe", "tiles", 2, 49, visible=True),),
    independent={"softmax": by_log_sum_exp},
)
