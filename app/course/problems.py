"""A problem in the content: where, what, and what to do. All of them are collected; none stops the next check."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Problem:
    """One finding. `file` is relative to the content folder; `line` counts from 1."""

    file: str
    line: int
    rule: str
    what: str
    fix: str

    @property
    def blocks(self) -> bool:
        """Whether it keeps the course from being shown. What nobody can reach yet harms no reader."""
        return self.rule not in ("unreachable", "stray")

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.what}; {self.fix}"
