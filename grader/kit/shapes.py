"""Lengths that faults need to show: around a block, and far past it."""

from __future__ import annotations


def lengths(block: int) -> dict[str, int]:
    """Named lengths around `block` (at least 2): each is where some family of faults first shows."""
    return {
        "1": 1,
        "B−1": block - 1,
        "B": block,
        "B+1": block + 1,
        "2B−1": 2 * block - 1,
        "2B": 2 * block,
        "2B+1": 2 * block + 1,
        "3B+1": 3 * block + 1,
    }


def tile_block(blocks: tuple[int, ...], longest: int) -> int | None:
    """The block, of those a kernel launched, that cuts axes into tiles: the largest one shorter than `longest`.

    A kernel that always takes the whole row in one tile launches a block per length; then the largest below
    `longest` is still a length worth crossing. ``None`` when nothing usable was launched.
    """
    usable = [block for block in blocks if 2 <= block < longest]
    return max(usable) if usable else None
