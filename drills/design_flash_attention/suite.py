"""One case for `design_flash_attention`: what a machine can say of four texts. A person scores the rest.

Nothing is hidden: all that is checked stands in the statement.
"""

from pathlib import Path

import numpy as np

from grader.kit import Ask, Case, Checked, Play, Report, Suite, read_outline

HERE = Path(__file__).parent
GIVEN = tuple((HERE / name).read_text(encoding="utf-8") for name in ("statement.md", "starter.py"))

# Stems of words that name a mechanism, for each key.
CHIP = ("hbm", "dram", "sram", "shared mem", "smem", "register", "cache", "l2", "global mem", "on-chip", "on chip")
STATE = ("running", "max", "rescal", "accumul", "exp(", "exp2", "exponent", "softmax", "sums", "sum ", "lse")
MECHANISMS = {
    "memoryTraffic": (
        *(*CHIP, "read", "written", "write", "load", "stor", "stream", "byte", "bandwidth", "materiali"),
    ),
    "tiling": (*(*CHIP, "tile", "block", "loop", "program", "grid", "warp", "outer", "inner", "stage", "buffer"),),
    "numericalStability": (
        *(
            *STATE,
            "overflow",
            "underflow",
            "subtract",
            "mask",
            "precision",
            "fp32",
            "float32",
            "nan",
            "-inf",
            "infin",
        ),
    ),
    "failureMode": (
        *(*STATE, *CHIP, "drift", "mask", "tail", "overflow", "nan", "spill", "occupancy", "race", "round"),
        *(
            "phantom",
            "precision",
            "diverg",
            "recomput",
            "flop",
            "tensor core",
            "utili",
            "underus",
            "imbalanc",
            "atomic",
            "stall",
            "lane",
            "out of bounds",
            "misalign",
            "tile",
        ),
    ),
}


def check(value: object) -> Report:
    return read_outline(value, MECHANISMS, GIVEN)


def play(case: Case, rng: np.random.Generator) -> Play:
    yield Ask("designOutline", (), (Checked("outline", check),))


def another_outline() -> dict[str, object]:
    """A design with the loops the other way round, for the gate: it must be let through to a person as well."""
    return {
        "memoryTraffic": (
            "K and V tiles are loaded from HBM once, 4 MiB a head, and stay in shared memory "
            "while all queries stream by. Q and O cross once per key tile, 64 times, because O "
            "has to be read, rescaled and written again; that is 256 MiB, and the reason not to "
            "ship this version."
        ),
        "tiling": (
            "Key tiles of 128 × 128 take 32 KiB for K and as much for V. Query tiles of 64 rows "
            "take 16 KiB. The outer loop runs over keys, so each block owns a key tile and must "
            "not race with others for rows of O."
        ),
        "numericalStability": (
            "Maximum and sum of every row lie in HBM as fp32, two numbers a row, and are updated "
            "after each key tile; O is multiplied by exp(m_old − m_new) before the new tile is "
            "added. Masked scores are −inf, and a row that saw nothing keeps sum 0 and returns "
            "zeros instead of 0/0."
        ),
        "failureMode": (
            "Two blocks update the same row of O at once: the result differs from run to run, by "
            "a whole tile's share. Compare two runs bit for bit at 8,192 keys, where 64 blocks "
            "meet on a row; at 128 keys there is one and the test would pass."
        ),
    }


SUITE = Suite(
    axes=(),
    cases=(
        Case("four values", "outline", {}, about="mechanism, quantity and decision of each value", visible=True),
    ),
    play=play,
    probes=(),
    independent={"designOutline": another_outline},
    public=True,
)
