"""How many objects a MessagePack payload would become, found without making any of them.

A byte on the wire can be an empty list of fifty bytes, and a header of five can announce four billion items. So a
payload from a runner is walked first, header by header; strings and binary data are stepped over.
"""

from __future__ import annotations

from typing import Final

# Length of what follows the first byte: fixed, or given by a big-endian length of so many bytes (plus an ext type).
_FIXED: Final = (
    {0xC0: 0, 0xC2: 0, 0xC3: 0, 0xCA: 4, 0xCB: 8}  # nil, false, true, floats
    | {0xCC: 1, 0xCD: 2, 0xCE: 4, 0xCF: 8, 0xD0: 1, 0xD1: 2, 0xD2: 4, 0xD3: 8}  # integers
    | {0xD4: 2, 0xD5: 3, 0xD6: 5, 0xD7: 9, 0xD8: 17}  # ext of 1 to 16 bytes
)
_SIZED: Final = (
    {0xC4: (1, 0), 0xC5: (2, 0), 0xC6: (4, 0)}  # binary
    | {0xC7: (1, 1), 0xC8: (2, 1), 0xC9: (4, 1)}  # ext
    | {0xD9: (1, 0), 0xDA: (2, 0), 0xDB: (4, 0)}  # text
)
_COUNTED: Final = {0xDC: (2, 1), 0xDD: (4, 1), 0xDE: (2, 2), 0xDF: (4, 2)}  # lists; dicts with two objects an item


def within(payload: bytes, most: int) -> bool:
    """Whether the payload is one whole object of at most `most` objects in all."""
    at, left, seen = 0, 1, 0
    while left:
        step = _step(payload, at)
        if step is None:
            return False
        at, inner = step
        seen += 1
        left += inner - 1
        if seen + left > most:
            return False
    return at == len(payload)


def _step(payload: bytes, at: int) -> tuple[int, int] | None:
    """Past the header at `at` and its data: where the next header is, and how many objects belong to this one."""
    if at >= len(payload):
        return None
    first = payload[at]
    at += 1
    if first <= 0x7F or first >= 0xE0:
        return at, 0
    if first <= 0x8F:
        return at, 2 * (first & 0x0F)
    if first <= 0x9F:
        return at, first & 0x0F
    if first <= 0xBF:
        return at + (first & 0x1F), 0
    if first in _FIXED:
        return at + _FIXED[first], 0
    if first in _SIZED:
        width, extra = _SIZED[first]
        return at + width + extra + int.from_bytes(payload[at : at + width], "big"), 0
    if first in _COUNTED:
        width, each = _COUNTED[first]
        return at + width, each * int.from_bytes(payload[at : at + width], "big")
    return None
