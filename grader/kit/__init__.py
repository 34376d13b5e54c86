"""What a drill's suite and reference may import; NumPy only, and nothing else of ours.

Reading order: `dtypes` (exact rounding) → `data` and `shapes` (what is drawn) → `place` (where it lies) →
`tolerance` (how close is right) → `served` and `checked` (what is no array) → `case` (how a suite is written).
"""

from grader.kit.attention import AttentionShape, attention_inputs, near_attention, visible_keys
from grader.kit.case import (
    Argument,
    Ask,
    Axis,
    Case,
    Exact,
    Json,
    Output,
    Plain,
    Play,
    Promise,
    Reply,
    Suite,
    faults_of,
)
from grader.kit.checked import Checked, Mark, Report
from grader.kit.data import DATA, Data, build, generator
from grader.kit.dtypes import DTYPES, DType, Raw, Values, decode, encode, half_ulp, rounded
from grader.kit.e4m3 import e4m3
from grader.kit.outline import read as read_outline
from grader.kit.place import GUARD, LAYOUTS, Placed, place, window
from grader.kit.running import RunningRow, attention_row, softmax_row
from grader.kit.served import BadCall, Foreign, Served, as_matrix
from grader.kit.shapes import lengths, tile_block
from grader.kit.timed import Fresh, Part, Slices, Timed, faults_of_timed
from grader.kit.tolerance import (
    SIZE_RULE,
    BadTolerance,
    Tolerance,
    big_enough,
    error_in_units,
    pooled,
    tolerance,
)

__all__ = [
    "DATA",
    "DTYPES",
    "GUARD",
    "LAYOUTS",
    "SIZE_RULE",
    "Argument",
    "Ask",
    "AttentionShape",
    "Axis",
    "BadCall",
    "BadTolerance",
    "Case",
    "Checked",
    "DType",
    "Data",
    "Exact",
    "Foreign",
    "Fresh",
    "Json",
    "Mark",
    "Output",
    "Part",
    "Placed",
    "Plain",
    "Play",
    "Promise",
    "Raw",
    "Reply",
    "Report",
    "RunningRow",
    "Served",
    "Slices",
    "Suite",
    "Timed",
    "Tolerance",
    "Values",
    "as_matrix",
    "attention_inputs",
    "attention_row",
    "big_enough",
    "build",
    "decode",
    "e4m3",
    "encode",
    "error_in_units",
    "faults_of",
    "faults_of_timed",
    "generator",
    "half_ulp",
    "lengths",
    "near_attention",
    "place",
    "pooled",
    "read_outline",
    "rounded",
    "softmax_row",
    "tile_block",
    "tolerance",
    "visible_keys",
    "window",
]
