"""The typed contexts of `app/templates/review/*.html`."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from markupsafe import Markup


@dataclass(frozen=True)
class GradeButton:
    """One of the four grades: what it is called, its key, and when the item comes back."""

    rating: int  # 1 to 4, which is also its key
    name: str
    comes: str  # "10 min", "3 days"


@dataclass(frozen=True)
class Asked:
    """What is asked: a prompt, or a drill to do again (`ask` and `answer` are None then).

    `answer` is None until it was asked for; then `grades` are the four buttons.
    """

    key: str  # names it in forms
    title: str  # of its card, track or drill
    href: str
    kind: str  # "card", "track", "drill"
    ask: Markup | None
    answer: Markup | None
    grades: tuple[GradeButton, ...]
    recall: int | None  # predicted, in percent; None for what is new
    leech: bool
    last: datetime | None  # when it was reviewed last


@dataclass(frozen=True)
class JustDone:
    """The last thing that was done today, which can be taken back."""

    title: str
    said: str  # "Good. It comes back in 3 days."


@dataclass(frozen=True)
class ReviewPage:
    """`review/show.html`. Everything posts to `/review/…` with `token`; `asked` is None when nothing is due."""

    asked: Asked | None
    token: str
    left: int  # in the queue, this one included
    done: int  # today
    over: int  # due today as well, but beyond the cap
    cap: int
    later: datetime | None  # when the next one comes up
    met: int  # items there are in all
    just: JustDone | None
    stylesheets: tuple[str, ...] = ()


@dataclass(frozen=True)
class ReviewLine:
    """One item in the list of all."""

    key: str
    title: str
    href: str
    kind: str
    ask: Markup | None
    recall: int | None
    due: datetime
    lapses: int
    leech: bool
    suspended: bool
    new: bool


@dataclass(frozen=True)
class ReviewItemsPage:
    """`review/items.html`. Each line posts `key`, `token` to `/review/suspend` or `/review/resume`."""

    lines: tuple[ReviewLine, ...]
    token: str
    stylesheets: tuple[str, ...] = ()
