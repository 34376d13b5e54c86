"""What is asked today, and what happens when it is answered.

An item exists once it was met: a prompt when its card or track was read, a drill when it was failed. Nothing is
stored until something happens to it, and then by `append` alone, which writes the event and the state it leads to
in one transaction.

Reading order: `Key` → `known` → `today` → `append` and what calls it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from zoneinfo import ZoneInfo

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.accounts.preferences import Preferences
from app.course.access import View
from app.course.models import Prompt
from app.db import alone, now
from app.errors import Conflict, InvalidForm, NotFound
from app.progress.service import Standings
from app.review.models import Action, ReviewEvent, ReviewItem
from app.review.schedule import Memory, Rating, day_bounds, day_of, from_attempts, is_due, recall, replay
from app.submissions.view import attempts_of

TOKEN = re.compile(r"[A-Za-z0-9_-]{8,64}")


@dataclass(frozen=True, order=True)
class Key:
    """Names an item: a prompt of a card or track, or a drill (whose prompt is empty)."""

    kind: str
    item: str
    prompt: str = ""

    def __str__(self) -> str:
        return ":".join(filter(None, (self.kind, self.item, self.prompt)))

    @staticmethod
    def read(text: str) -> Key:
        """The key that `str` wrote. Raises `NotFound` for anything else."""
        parts = text.split(":")
        if len(parts) not in (2, 3) or parts[0] not in ("card", "track", "drill"):
            raise NotFound("review")
        return Key(*parts)


@dataclass(frozen=True)
class Known:
    """All that somebody has met, in the order in which they met it, with what is known of their memory of it."""

    items: Mapping[Key, Memory]
    touched: frozenset[Key]  # graded today
    skipped: frozenset[Key]  # put off until tomorrow


@dataclass(frozen=True)
class Today:
    """The session of a day. `queue` is what to ask now, the first first."""

    queue: tuple[Key, ...]
    done: int  # items graded today
    over: int  # due today as well, beyond the cap
    later: datetime | None  # when the next one comes up, when the queue is empty


def known(
    session: Session, user: str, view: View, standings: Standings, preferences: Preferences, at: datetime
) -> Known:
    """Gather what `user` has met and how well they know it."""
    stored = {_key(row): row for row in session.scalars(select(ReviewItem).where(ReviewItem.user_id == user))}
    items: dict[Key, Memory] = {}
    for key, met_at in _met(view, standings):
        items[key] = memory_of(stored[key]) if key in stored else Memory(due=met_at)
    for drill, tries in attempts_of(session, user).items():
        memory = from_attempts(tries, preferences.retention) if drill in view.drills else None
        if memory is not None:
            key = Key("drill", drill)
            row = stored.get(key)
            items[key] = memory if row is None else _suspended(memory, row.suspended)
    by_id = {row.id: key for key, row in stored.items()}
    events = _events_of_day(session, user, at, preferences.zone)
    return Known(
        items=items,
        touched=frozenset(by_id[event.item_id] for event in events if event.action == Action.GRADE),
        skipped=frozenset(by_id[event.item_id] for event in events if event.action == Action.SKIP),
    )


def today(found: Known, preferences: Preferences, at: datetime) -> Today:
    """What to ask now, within the day's cap: first what was forgotten a moment ago, then what is fading most."""
    zone = preferences.zone
    due = [key for key, memory in found.items.items() if key not in found.skipped and is_due(memory, at, zone)]
    again = [key for key in due if key in found.touched]
    fresh = sorted((key for key in due if key not in found.touched), key=lambda key: _urgency(found.items[key], at))
    room = max(0, preferences.daily_cap - len(found.touched))
    coming = [
        memory.due
        for key, memory in found.items.items()
        if not memory.suspended and key not in due and key not in found.skipped
    ]
    return Today(
        queue=(*again, *fresh[:room]),
        done=len(found.touched),
        over=max(0, len(fresh) - room),
        later=min(coming, default=None),
    )


def prompt_of(view: View, key: Key) -> Prompt | None:
    """The prompt behind a key, as far as the reader may see its card or track; None for drills."""
    shelf = view.cards if key.kind == "card" else view.tracks if key.kind == "track" else {}
    item = shelf.get(key.item)
    return next((prompt for prompt in item.prompts if prompt.id == key.prompt), None) if item is not None else None


def grade(
    session: Session, user: str, key: Key, memory: Memory, rating: Rating, retention: float, token: str
) -> None:
    """Keep how well a prompt was recalled. `memory` is what was known before, in case nothing is stored yet."""
    if key.kind == "drill":
        raise InvalidForm({"form": "A drill is graded by its verdict, not by hand."})
    append(session, user, key, memory, Action.GRADE, token, rating=int(rating), retention=retention)


def append(
    session: Session,
    user: str,
    key: Key,
    memory: Memory,
    action: Action,
    token: str,
    rating: int | None = None,
    retention: float | None = None,
    at: datetime | None = None,
) -> bool:
    """Write one event and the state that it leads to. False, and nothing is written, for a token used before.

    Raises `Conflict` for a moment before the last review of the item.
    """
    if not TOKEN.fullmatch(token):
        raise InvalidForm({"form": "This form is stale. Open the review again and answer from there."})
    alone(session, user)
    row = _row(session, user, key, memory)
    if session.scalar(select(ReviewEvent.number).where(ReviewEvent.user_id == user, ReviewEvent.token == token)):
        return False
    log = events_of(session, row)
    event = ReviewEvent(
        item_id=row.id,
        number=len(log) + 1,
        user_id=user,
        token=token,
        action=action.value,
        at=at or now(),
        rating=rating,
        retention=retention,
        undoes=_undone_by(log) if action is Action.UNDO else None,
    )
    _store(row, replay(row.first_due, [*log, event]))
    session.add(event)
    session.flush()
    return True


def undo(session: Session, user: str, token: str, zone: ZoneInfo) -> bool:
    """Take back the last thing that happened today. False when there is nothing to take back."""
    alone(session, user)
    if session.scalar(select(ReviewEvent.number).where(ReviewEvent.user_id == user, ReviewEvent.token == token)):
        return True
    last = last_of_day(session, user, now(), zone)
    if last is None:
        return False
    row = session.get_one(ReviewItem, last.item_id)
    return append(session, user, _key(row), memory_of(row), Action.UNDO, token)


def last_of_day(session: Session, user: str, at: datetime, zone: ZoneInfo) -> ReviewEvent | None:
    """The newest event of the learner's day that can still be undone."""
    events = _events_of_day(session, user, at, zone)
    return max(events, key=lambda event: (event.at, event.item_id, event.number), default=None)


def events_of(session: Session, row: ReviewItem) -> list[ReviewEvent]:
    """The log of an item, in order."""
    mine = select(ReviewEvent).where(ReviewEvent.item_id == row.id).order_by(ReviewEvent.number)
    return list(session.scalars(mine))


def memory_of(row: ReviewItem) -> Memory:
    """The stored state of an item as a value."""
    return Memory(
        due=row.due,
        state=row.state,
        step=row.step,
        stability=row.stability,
        difficulty=row.difficulty,
        last_review=row.last_review,
        lapses=row.lapses,
        suspended=row.suspended,
    )


def _met(view: View, standings: Standings) -> list[tuple[Key, datetime]]:
    """The prompts of what was read, in the order of reading."""
    found = []
    for (kind, item), moment in sorted(standings.read.items(), key=lambda entry: entry[1]):
        shelf = view.cards if kind == "card" else view.tracks if kind == "track" else {}
        read = shelf.get(item)
        found += [(Key(kind, item, prompt.id), moment) for prompt in (read.prompts if read is not None else ())]
    return found


def _urgency(memory: Memory, at: datetime) -> tuple[int, float, datetime]:
    """What is fading most comes first; what is new comes last, in the order in which it was met."""
    chance = recall(memory, at)
    return (1, 0.0, memory.due) if chance is None else (0, chance, memory.due)


def _events_of_day(session: Session, user: str, at: datetime, zone: ZoneInfo) -> list[ReviewEvent]:
    """What happened on the learner's day, without what was undone and the undoing."""
    start, end = day_bounds(day_of(at, zone), zone)
    rows: Sequence[ReviewEvent] = session.scalars(
        select(ReviewEvent).where(ReviewEvent.user_id == user, ReviewEvent.at >= start, ReviewEvent.at < end)
    ).all()
    undone = {(row.item_id, row.undoes) for row in rows if row.action == Action.UNDO}
    return [row for row in rows if row.action != Action.UNDO and (row.item_id, row.number) not in undone]


def _undone_by(log: Sequence[ReviewEvent]) -> int:
    """The newest event of an item that is not undone."""
    undone = {event.undoes for event in log}
    numbers = [event.number for event in log if event.action != Action.UNDO and event.number not in undone]
    if not numbers:
        raise Conflict("There is nothing to take back.")
    return numbers[-1]


def _row(session: Session, user: str, key: Key, memory: Memory) -> ReviewItem:
    """The row of an item; made on the first event."""
    mine = (ReviewItem.user_id == user, ReviewItem.kind == key.kind)
    query = select(ReviewItem).where(*mine, ReviewItem.item == key.item, ReviewItem.prompt == key.prompt)
    row = session.scalar(query)
    if row is None:
        row = ReviewItem(user_id=user, kind=key.kind, item=key.item, prompt=key.prompt, first_due=memory.due)
        _store(row, Memory(due=memory.due))
        session.add(row)
        session.flush()
    return row


def _store(row: ReviewItem, memory: Memory) -> None:
    row.due, row.state, row.step = memory.due, memory.state, memory.step
    row.stability, row.difficulty = memory.stability, memory.difficulty
    row.last_review, row.lapses, row.suspended = memory.last_review, memory.lapses, memory.suspended


def _key(row: ReviewItem) -> Key:
    return Key(row.kind, row.item, row.prompt)


def _suspended(memory: Memory, suspended: bool) -> Memory:
    return replace(memory, suspended=suspended)
