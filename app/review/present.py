"""From what is known to page contexts: pure, apart from the one look at what was done last."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TypedDict

from markupsafe import Markup
from sqlalchemy.orm import Session

from app.accounts.preferences import Preferences
from app.course.access import View
from app.course.present import stylesheets
from app.review.models import Action, ReviewEvent, ReviewItem
from app.review.pages import Asked, GradeButton, JustDone, ReviewItemsPage, ReviewLine, ReviewPage
from app.review.schedule import Memory, Rating, graded, recall
from app.review.service import Key, Known, Today, prompt_of

NAMES = {Rating.AGAIN: "Again", Rating.HARD: "Hard", Rating.GOOD: "Good", Rating.EASY: "Easy"}


def review_page(
    view: View,
    found: Known,
    day: Today,
    chosen: Preferences,
    at: datetime,
    opened: Key | None,
    just: JustDone | None,
    token: str,
) -> ReviewPage:
    """The session as it stands; `opened` is the prompt whose answer was asked for."""
    key = opened or next(iter(day.queue), None)
    asked = None if key is None else _asked(view, key, found.items[key], chosen, at, opened is not None)
    parts = [part for part in (asked.ask, asked.answer) if part is not None] if asked is not None else []
    return ReviewPage(
        asked=asked,
        token=token,
        left=len(day.queue),
        done=day.done,
        over=day.over,
        cap=chosen.daily_cap,
        later=day.later,
        met=len(found.items),
        just=just,
        stylesheets=stylesheets(view, *parts),
    )


def items_page(view: View, found: Known, at: datetime, token: str) -> ReviewItemsPage:
    """Everything that is reviewed: the troublesome first, then by when it comes up."""
    lines = [_line(view, key, memory, at) for key, memory in found.items.items()]
    lines.sort(key=lambda line: (not line.leech, line.suspended, line.due))
    asks = [line.ask for line in lines if line.ask is not None]
    return ReviewItemsPage(lines=tuple(lines), token=token, stylesheets=stylesheets(view, *asks))


def just_done(session: Session, view: View, event: ReviewEvent | None, at: datetime) -> JustDone | None:
    """What the last event of today was, in a sentence."""
    if event is None:
        return None
    row = session.get_one(ReviewItem, event.item_id)
    title = title_of(view, Key(row.kind, row.item, row.prompt))
    if event.action == Action.GRADE and event.rating is not None:
        return JustDone(title, f"{NAMES[Rating(event.rating)]}. It comes back in {interval(row.due - event.at)}.")
    said = {
        Action.SKIP: "Put off until tomorrow.",
        Action.SUSPEND: "Suspended: it is not asked again.",
        Action.RESUME: "Taken up again.",
    }
    return JustDone(title, said[Action(event.action)])


def title_of(view: View, key: Key) -> str:
    """What the card, track or drill of an item is called; its id when it is gone."""
    if key.kind == "drill":
        return view.drills[key.item].title if key.item in view.drills else key.item
    shelf = view.cards if key.kind == "card" else view.tracks
    found = shelf.get(key.item)
    return key.item if found is None else found.title


def interval(span: timedelta) -> str:
    """A span as people say it: 10 min, 3 days, 5 months."""
    minutes = max(1, round(span.total_seconds() / 60))
    if minutes < 60:
        return f"{minutes} min"
    if minutes < 24 * 60:
        return f"{round(minutes / 60)} h"
    days = round(minutes / (24 * 60))
    if days < 60:
        return f"{days} day{'s' * (days != 1)}"
    return f"{round(days / 30.4)} months" if days < 730 else f"{round(days / 365)} years"


def _asked(view: View, key: Key, memory: Memory, chosen: Preferences, at: datetime, opened: bool) -> Asked:
    prompt = prompt_of(view, key)
    shown = opened and prompt is not None
    return Asked(
        **_about(view, key, memory, at),
        answer=prompt.answer if shown and prompt is not None else None,
        grades=_grades(memory, chosen.retention, at) if shown else (),
        last=memory.last_review,
    )


def _grades(memory: Memory, retention: float, at: datetime) -> tuple[GradeButton, ...]:
    at = max(at, memory.last_review or at)
    return tuple(
        GradeButton(int(rating), name, interval(graded(memory, rating, at, retention).due - at))
        for rating, name in NAMES.items()
    )


def _line(view: View, key: Key, memory: Memory, at: datetime) -> ReviewLine:
    return ReviewLine(
        **_about(view, key, memory, at),
        due=memory.due,
        lapses=memory.lapses,
        suspended=memory.suspended,
        new=memory.new,
    )


class _About(TypedDict):
    """What the page of the day and the list of all say of an item alike."""

    key: str
    title: str
    href: str
    kind: str
    ask: Markup | None
    recall: int | None
    leech: bool


def _about(view: View, key: Key, memory: Memory, at: datetime) -> _About:
    prompt, chance = prompt_of(view, key), recall(memory, at)
    return _About(
        key=str(key),
        title=title_of(view, key),
        href=f"/{key.kind}s/{key.item}" + (f"#prompt-{key.prompt}" if key.prompt else ""),
        kind=key.kind,
        ask=prompt.ask if prompt is not None else None,
        recall=None if chance is None else round(100 * chance),
        leech=memory.leech,
    )
