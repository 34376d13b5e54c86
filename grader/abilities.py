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

# Loads and stores are counted by the interpreter, byte by byte. A GPU does not say who wrote a byte; there only the
# host is watched: which kernels were given which tensors, and what PyTorch wrote (see `grader.device`).
COUNTS_TRAFFIC: Final[frozenset[Lane]] = frozenset({Lane.CPU})


def computes(lane: Lane, dtype: str) -> bool:
    """Can `lane` compute with this element type?"""
    return dtype not in CANNOT_COMPUTE[lane]


def counts_traffic(lane: Lane) -> bool:
    """Does `lane` count loads and stores?"""
    return lane in COUNTS_TRAFFIC


def can_mute(lane: Lane) -> bool:
    """Can `lane` make a call without launching its kernels? Asked where writers are watched from the host only."""
    return lane is Lane.GPU


def times(lane: Lane) -> bool:
    """Is speed a figure in `lane`? An interpreter's is none."""
    return lane is Lane.GPU
