"""The statement's table, the best right backend of each row, and what it gains."""

from typing import Any

TABLE = {
    "decode one": {"in_use": (55.1, 0.002), "new": (16.1, 0.002), "tiled": (55.6, 0.002)},
    "decode equal": {"in_use": (134.2, 0.002), "new": (99.3, 0.002), "tiled": (141.0, 0.002)},
    "decode ragged": {"in_use": (138.3, 0.002), "new": (52.1, 0.9), "tiled": (144.8, 0.002)},
    "chunk": {"in_use": (131.3, 0.002), "new": (159.3, 0.002), "tiled": (112.4, 0.002)},
    "chunks ragged": {"in_use": (170.2, 0.002), "new": (88.0, 0.7), "tiled": (131.9, 0.03)},
}
LARGEST_ERROR, CHOOSING, SHARE = 0.01, 2.0, 0.4


def row_of(shape: dict[str, Any]) -> str:
    """The row of the table that a shape belongs to."""
    ragged = len(set(shape["lengths"])) > 1
    if shape["queries"] > 1:
        return "chunks ragged" if ragged else "chunk"
    if ragged:
        return "decode ragged"
    return "decode equal" if len(shape["lengths"]) > 1 else "decode one"


def best(row: str) -> str:
    """The fastest backend that is right in `row`."""
    right = {name: time for name, (time, error) in TABLE[row].items() if error <= LARGEST_ERROR}
    return min(right, key=lambda name: right[name])


def choose(shape: dict[str, Any]) -> str:
    """The backend to run for a shape."""
    return best(row_of(shape))


def speedup(mix: dict[str, int]) -> float:
    """Time of a step before over after, for calls by row."""
    before = sum(calls * TABLE[row]["in_use"][0] for row, calls in mix.items())
    after = sum(calls * (TABLE[row][best(row)][0] + CHOOSING) for row, calls in mix.items())
    return float(1 / (1 - SHARE + SHARE * after / before))
