"""What differs between two texts: from the rows, both texts can be read back."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from app.practice.diff import CONTEXT, Diff, Row, compare

LINES = st.lists(st.sampled_from(["", "a", "m = tl.maximum(m, s)", "m = tl.maximum(m, t)", "return"]), max_size=30)


def rows(diff: Diff) -> list[Row]:
    return [row for hunk in diff.hunks for row in hunk.rows]


@given(LINES, LINES)
def test_the_rows_hold_each_change_once(old: list[str], new: list[str]) -> None:
    before, after = "\n".join(old), "\n".join(new)
    found = compare(before, after)
    shown_old = {row.old.number: "".join(part.text for part in row.old.parts) for row in rows(found) if row.old}
    shown_new = {row.new.number: "".join(part.text for part in row.new.parts) for row in rows(found) if row.new}
    assert all(before.split("\n")[number - 1] == text for number, text in shown_old.items())
    assert all(after.split("\n")[number - 1] == text for number, text in shown_new.items())
    changed = [row for row in rows(found) if not row.same]
    assert sum(row.old is not None for row in changed) == found.removed
    assert sum(row.new is not None for row in changed) == found.added
    assert (before == after) == (not found.hunks)
    folded = sum(hunk.skipped for hunk in found.hunks) + found.skipped
    assert folded + len(shown_old) == len(before.split("\n"))


def test_what_changed_within_a_line_is_marked() -> None:
    (row,) = rows(compare("m = max(m, s)", "m = max(m, t)"))
    assert row.old is not None and row.new is not None
    assert [part.text for part in row.old.parts if part.changed] == ["s"]
    assert [part.text for part in row.new.parts if part.changed] == ["t"]


def test_lines_far_from_a_change_are_folded() -> None:
    old = "\n".join(str(n) for n in range(100))
    found = compare(old, old.replace("\n50\n", "\nfifty\n"))
    assert len(rows(found)) == 2 * CONTEXT + 1
    assert (found.hunks[0].skipped, found.skipped) == (50 - CONTEXT, 49 - CONTEXT)


def test_a_line_that_only_gained_something_is_a_change() -> None:
    (row,) = rows(compare("m = max(m)", "m = max(m, s)"))
    assert not row.same


def test_huge_and_hostile_texts_are_compared_as_a_whole() -> None:
    old, new = "\n" * 60_000, "\n" * 59_000 + "x"
    assert compare(old, new).hunks
    assert not compare(old, old).hunks
    long = compare("a" * 60_000, "a" * 59_000)
    assert [part.changed for row in rows(long) if row.old for part in row.old.parts] == [True]
