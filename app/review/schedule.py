"""When something is asked again: pure functions over the scheduler (FSRS 6) and the log.

The scheduler's own random spread of intervals is off: an item's state must follow from its log alone, so that
`replay` gives what is stored. The log keeps the retention that was wanted at each grade for the same reason.

Reading order: `Memory` → `graded` → `replay` → `recall` → `from_attempts` (drills, which nobody grades by hand).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from enum import IntEnum
from functools import lru_cache
from typing import Protocol
from zoneinfo import ZoneInfo

import fsrs

from app.errors import Conflict
from app.review.models import Action

LEECH = 5  # lapses after which a prompt costs more than it teaches
SOON = timedelta(minutes=10)  # until something forgotten is asked again on the same day


class Rating(IntEnum):
    """How well something was recalled."""

    AGAIN = 1
    HARD = 2
    GOOD = 3
    EASY = 4


@dataclass(frozen=True)
class Memory:
    """What is known about one learner's memory of one item; the scheduler's fields, and what we add."""

    due: datetime
    state: int = int(fsrs.State.Learning)
    step: int | None = 0
    stability: float | None = None
    difficulty: float | None = None
    last_review: datetime | None = None
    lapses: int = 0
    suspended: bool = False

    @property
    def new(self) -> bool:
        """Whether it was never graded."""
        return self.last_review is None

    @property
    def leech(self) -> bool:
        """Whether it is forgotten so often that the prompt, not the learner, is at fault."""
        return self.lapses >= LEECH


class Event(Protocol):
    """What a replay reads of the log."""

    @property
    def number(self) -> int: ...
    @property
    def action(self) -> str: ...
    @property
    def at(self) -> datetime: ...
    @property
    def rating(self) -> int | None: ...
    @property
    def retention(self) -> float | None: ...
    @property
    def undoes(self) -> int | None: ...


def graded(memory: Memory, rating: Rating, at: datetime, retention: float, steps: bool = True) -> Memory:
    """The memory after a grade at `at`. `steps` asks what was forgotten again within the day.

    Raises `Conflict` for a moment before the last review: the scheduler would count days backwards.
    """
    at = at.astimezone(UTC)
    if memory.last_review is not None and at < memory.last_review:
        raise Conflict("This was reviewed later than that already.", "Go on with the next one.")
    before = fsrs.Card(
        card_id=1,  # without an id the library sleeps for a millisecond to make one
        state=fsrs.State(memory.state),
        step=memory.step,
        stability=memory.stability,
        difficulty=memory.difficulty,
        due=memory.due,
        last_review=memory.last_review,
    )
    after, _ = _scheduler(retention, steps).review_card(before, fsrs.Rating(int(rating)), at)
    lapsed = rating is Rating.AGAIN and before.state is fsrs.State.Review
    return replace(
        memory,
        due=after.due,
        state=int(after.state),
        step=after.step,
        stability=after.stability,
        difficulty=after.difficulty,
        last_review=at,
        lapses=memory.lapses + lapsed,
    )


def replay(first_due: datetime, events: Iterable[Event]) -> Memory:
    """The memory that a log adds up to. What was undone counts as if it had not happened."""
    log = sorted(events, key=lambda event: event.number)
    undone = {event.undoes for event in log if event.action == Action.UNDO}
    memory = Memory(due=first_due)
    for event in log:
        if event.number not in undone:
            memory = applied(memory, event)
    return memory


def applied(memory: Memory, event: Event) -> Memory:
    """The memory after one event that is not an undo."""
    if event.action == Action.GRADE and event.rating is not None and event.retention is not None:
        return graded(memory, Rating(event.rating), event.at, event.retention)
    if event.action in (Action.SUSPEND, Action.RESUME):
        return replace(memory, suspended=event.action == Action.SUSPEND)
    return memory


def recall(memory: Memory, at: datetime, retention: float = 0.9) -> float | None:
    """The predicted chance, from 0 to 1, of recalling it at `at`; None while nothing is known."""
    if memory.last_review is None or memory.stability is None:
        return None
    card = fsrs.Card(card_id=1, stability=memory.stability, last_review=memory.last_review, due=memory.due)
    return float(_scheduler(retention, True).get_card_retrievability(card, at.astimezone(UTC)))


def from_attempts(attempts: Sequence[tuple[datetime, bool]], retention: float) -> Memory | None:
    """The memory of a drill from its decided attempts in order, each as (moment, whether it passed).

    A drill enters with its first failure. From then on an attempt counts as a recall when it turns out differently
    from the one that counted last, or comes a day after it: ten failures in an hour are one.
    """
    start = next((place for place, (_, passed) in enumerate(attempts) if not passed), None)
    if start is None:
        return None
    memory = Memory(due=attempts[start][0])
    counted: tuple[datetime, bool] | None = None
    for at, passed in attempts[start:]:
        if counted is None or counted[1] is not passed or at - counted[0] >= timedelta(days=1):
            memory = graded(memory, Rating.GOOD if passed else Rating.AGAIN, at, retention, steps=False)
            counted = (at, passed)
    return memory


def day_of(moment: datetime, zone: ZoneInfo) -> date:
    """The learner's day that a moment falls on."""
    return moment.astimezone(zone).date()


def day_bounds(day: date, zone: ZoneInfo) -> tuple[datetime, datetime]:
    """The first moment of a day in a zone and that of the day after, in UTC; 23 or 25 hours when clocks change."""
    start = datetime(day.year, day.month, day.day, tzinfo=zone)
    after = day + timedelta(days=1)
    return start.astimezone(UTC), datetime(after.year, after.month, after.day, tzinfo=zone).astimezone(UTC)


def is_due(memory: Memory, at: datetime, zone: ZoneInfo) -> bool:
    """Whether to ask now: what comes up at any hour of today, and what was just forgotten, once it is time."""
    if memory.suspended:
        return False
    if memory.state == int(fsrs.State.Review):
        return memory.due < day_bounds(day_of(at, zone), zone)[1]
    return memory.due <= at


@lru_cache(maxsize=32)
def _scheduler(retention: float, steps: bool) -> fsrs.Scheduler:
    soon = (SOON,) if steps else ()
    return fsrs.Scheduler(
        desired_retention=retention, learning_steps=soon, relearning_steps=soon, enable_fuzzing=False
    )
