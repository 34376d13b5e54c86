"""What each lane can do, for the judge. One switch a line; everything that differs between lanes is asked here."""

from __future__ import annotations

from typing import Final

from grader.verdict import Lane

# Triton's own interpreter adds and multiplies bf16 as 16-bit integers, so a kernel that is right on a GPU looks
# wrong in it: where that interpreter runs the CPU lane, "bf16" belongs in its set. The batched one has none.
CANNOT_COMPUTE: Final[dict[Lane, frozenset[str]]] = {
    Lane.CPU: frozenset(),
    Lane.GPU: frozenset(),
}

# Loads, stores and provenance are counted by the interpreter; a GPU does not say who wrote a byte. A submission for
# the GPU lane must therefore also pass the CPU lane to be accepted under such a rule.
COUNTS_TRAFFIC: Final[frozenset[Lane]] = frozenset({Lane.CPU})


def computes(lane: Lane, dtype: str) -> bool:
    """Can `lane` compute with this element type?"""
    return dtype not in CANNOT_COMPUTE[lane]


def counts_traffic(lane: Lane) -> bool:
    """Does `lane` give evidence of loads, stores and who wrote the result?"""
    return lane in COUNTS_TRAFFIC
