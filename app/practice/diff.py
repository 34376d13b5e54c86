"""What differs between two texts, line by line, as data for the page: `compare` is pure.

Lines that are alike and far from any change are folded away. Of a pair of lines that resemble each other, the parts
that differ are marked.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

CONTEXT = 3  # unchanged lines shown round a change
ALIKE = 0.4  # from this likeness on, two lines are shown as one that changed
LONGEST = 200  # characters; a longer line is not looked at within: the matcher's work grows with the square
MOST_LINES = 4000  # beyond, the texts are compared as a whole


@dataclass(frozen=True)
class Part:
    """A piece of a line; `changed` when the other side lacks it."""

    text: str
    changed: bool = False


@dataclass(frozen=True)
class Side:
    """A line on one side."""

    number: int  # from 1
    parts: tuple[Part, ...]


@dataclass(frozen=True)
class Row:
    """Two lines beside each other. `old` or `new` is missing where only one side has a line."""

    old: Side | None
    new: Side | None

    @property
    def same(self) -> bool:
        """Whether both sides have this line."""
        return self.old is not None and self.new is not None and not any(part.changed for part in self.old.parts)


@dataclass(frozen=True)
class Hunk:
    """Rows that belong together, and how many equal lines were left out before them."""

    skipped: int
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class Diff:
    """The whole difference. No hunks: the texts are the same."""

    hunks: tuple[Hunk, ...]
    added: int
    removed: int
    skipped: int  # equal lines after the last hunk


def compare(old: str, new: str) -> Diff:
    """What turns `old` into `new`."""
    before, after = old.split("\n"), new.split("\n")
    if max(len(before), len(after)) > MOST_LINES:
        rows = tuple(_block(before, after, 0, len(before), 0, len(after))) if old != new else ()
        return Diff((Hunk(0, rows),) if rows else (), len(after), len(before), 0)
    hunks: list[Hunk] = []
    shown = added = removed = 0
    for group in SequenceMatcher(None, before, after).get_grouped_opcodes(CONTEXT):
        rows = tuple(row for code in group for row in _rows(before, after, *code))
        hunks.append(Hunk(group[0][1] - shown, rows))
        shown = group[-1][2]
        changed = [code for code in group if code[0] != "equal"]
        removed += sum(code[2] - code[1] for code in changed)
        added += sum(code[4] - code[3] for code in changed)
    return Diff(tuple(hunks), added, removed, len(before) - shown)


def _rows(before: Sequence[str], after: Sequence[str], tag: str, a: int, b: int, c: int, d: int) -> Iterator[Row]:
    if tag == "equal":
        for at in range(b - a):
            text = before[a + at]
            yield Row(Side(a + at + 1, (Part(text),)), Side(c + at + 1, (Part(text),)))
    else:
        yield from _block(before, after, a, b, c, d)


def _block(before: Sequence[str], after: Sequence[str], a: int, b: int, c: int, d: int) -> Iterator[Row]:
    """Lines that changed: beside each other as long as both sides have some."""
    for at in range(max(b - a, d - c)):
        old, new = before[a + at] if a + at < b else None, after[c + at] if c + at < d else None
        left, right = _parts(old or "", new or "")
        yield Row(
            Side(a + at + 1, left) if old is not None else None,
            Side(c + at + 1, right) if new is not None else None,
        )


def _parts(old: str, new: str) -> tuple[tuple[Part, ...], tuple[Part, ...]]:
    """Two lines in pieces. Lines that have little in common are marked whole."""
    whole = (Part(old, True),), (Part(new, True),)
    if not old or not new or max(len(old), len(new)) > LONGEST:
        return whole
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    if matcher.ratio() < ALIKE:
        return whole
    codes = matcher.get_opcodes()
    left = tuple(Part(old[a:b], tag != "equal") for tag, a, b, _, _ in codes if a < b)
    right = tuple(Part(new[c:d], tag != "equal") for tag, _, _, c, d in codes if c < d)
    # a line that only gained something is a change all the same, on both sides
    return (left if any(part.changed for part in left) else (*left, Part("", True))), right
