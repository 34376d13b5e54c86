"""A result that no reference can equal: judged by a function, which says what it looked at and what it found.

For answers that are many and good in different ways: a test suite, an outline. The check runs on the judge's side
and must cost little whatever it is given.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar


@dataclass(frozen=True)
class Mark:
    """One thing that was looked at. Marks of one `group` are shown together, in order."""

    group: str
    name: str
    ok: bool
    words: str = ""


@dataclass(frozen=True)
class Report:
    """What a check found. `words` is one sentence for the learner, `question` what to ask next when it failed.

    `features` are keys that hints match on. `figures` are (what, how much) in words. `by_person`: this was the part
    that a machine can do, and a person scores the rest.
    """

    accepted: bool
    words: str
    marks: tuple[Mark, ...] = ()
    figures: tuple[tuple[str, str], ...] = ()
    features: tuple[str, ...] = ()
    question: str = ""
    by_person: bool = False


@dataclass(frozen=True)
class Checked:
    """One plain value that a call must return, judged by `check`. It may be anything: wrong types are its business.

    Arrays come as NumPy arrays, tuples as lists, and what is neither plain nor an array as `Foreign`.
    """

    name: str
    check: Callable[[Any], Report]
    argument: ClassVar[None] = None
