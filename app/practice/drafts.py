"""Drafts: versions of a text that nobody grades. Two tabs can't overwrite each other, and nothing saved is lost.

A save names the version that its writer had before them (`base`). When that is still the newest, the text becomes
the draft; when it is not, the text is put aside beside it, whole, and the writer is told.

Reading order: `save` → `current` → `restore`, `discard` → `superseded`, which keeps the list short.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from app.db import alone, now
from app.errors import NotFound
from app.practice.models import Cause, DraftVersion
from app.submissions.handed import source_problem

MOST = 40  # versions that are kept of a draft
MOST_ASIDE = 10  # of them, texts put aside
WINDOW = timedelta(minutes=2)  # of the versions saved by themselves within it, the last one is kept


@dataclass(frozen=True)
class Saved:
    """What became of a save. `stale` means: the text is `kept` aside, and `draft` is what somebody saved before."""

    kept: DraftVersion
    draft: DraftVersion

    @property
    def stale(self) -> bool:
        """Whether the writer's base was no longer the newest."""
        return self.kept.number != self.draft.number


def save(session: Session, user: str, drill: str, source: str, base: int, cause: Cause = Cause.AUTO) -> Saved:
    """Keep `source`, written on version `base` (0: none). The text that is there already makes no new version."""
    alone(session, user)
    versions = versions_of(session, user, drill)
    draft = newest(versions)
    if draft is not None and draft.source == source:
        if cause is Cause.SAVED:
            draft.cause = Cause.SAVED
        return Saved(draft, draft)
    stale = draft is not None and draft.number != base
    if stale:
        again = next((one for one in versions if one.cause == Cause.ASIDE and one.source == source), None)
        if again is not None and draft is not None:  # the client tried once more
            return Saved(again, draft)
    kept = DraftVersion(
        user_id=user,
        drill=drill,
        number=1 + max((one.number for one in versions), default=0),
        base=base,
        cause=Cause.ASIDE if stale else cause,
        source=source,
        saved_at=now(),
    )
    session.add(kept)
    session.flush()
    _thin(session, user, drill, [*versions, kept])
    return Saved(kept, draft if stale and draft is not None else kept)


def versions_of(session: Session, user: str, drill: str) -> list[DraftVersion]:
    """All versions, in order."""
    query = select(DraftVersion).where(DraftVersion.user_id == user, DraftVersion.drill == drill)
    return list(session.scalars(query.order_by(DraftVersion.number)))


def current(session: Session, user: str, drill: str) -> DraftVersion | None:
    """The draft: the newest version that was not put aside."""
    query = select(DraftVersion).where(
        DraftVersion.user_id == user, DraftVersion.drill == drill, DraftVersion.cause != Cause.ASIDE
    )
    return session.scalar(query.order_by(DraftVersion.number.desc()).limit(1))


def version(session: Session, user: str, drill: str, number: int) -> DraftVersion:
    """One version. Raises `NotFound`."""
    found = session.get(DraftVersion, (user, drill, number)) if 0 < number < 2**31 else None
    if found is None:
        raise NotFound("version of this draft")
    return found


def restore(session: Session, user: str, drill: str, number: int) -> Saved:
    """Make the text of a version the draft again, as a new version: what was the draft stays in the list."""
    alone(session, user)
    wanted = version(session, user, drill, number)
    draft = current(session, user, drill)
    saved = save(session, user, drill, wanted.source, draft.number if draft else 0, Cause.SAVED)
    if wanted.cause == Cause.ASIDE:
        session.delete(wanted)
    return saved


def discard(session: Session, user: str, drill: str, number: int) -> None:
    """Forget a version that is not the draft. A version that is not there has been forgotten already."""
    if not 0 < number < 2**31:
        return  # no such number was ever given
    draft = current(session, user, drill)
    if draft is None or draft.number != number:
        mine = (DraftVersion.user_id == user, DraftVersion.drill == drill, DraftVersion.number == number)
        session.execute(delete(DraftVersion).where(*mine))


def draft_problem(source: str, limit: int) -> str:
    """Why a text cannot be kept as a draft, or nothing. Unlike a submission, a draft may be empty."""
    return source_problem(source, limit) if source.strip() else ""


def newest(versions: Sequence[DraftVersion]) -> DraftVersion | None:
    """The draft among its versions in order."""
    return next((one for one in reversed(versions) if one.cause != Cause.ASIDE), None)


def superseded(versions: Sequence[DraftVersion]) -> set[int]:
    """The numbers of the versions that need not be kept, of all in order.

    Of what was saved by itself, the last of each window of time stays. Beyond `MOST`, the oldest go: first those
    saved by themselves, then those saved on purpose. The draft itself always stays.
    """
    draft = newest(versions)
    rest = [one for one in versions if draft is None or one.number != draft.number]
    windows: dict[int, int] = {}
    for one in [*rest, *([draft] if draft else [])]:
        if one.cause == Cause.AUTO:
            windows[int(one.saved_at.timestamp() // WINDOW.total_seconds())] = one.number
    last = set(windows.values())
    gone = {one.number for one in rest if one.cause == Cause.AUTO and one.number not in last}
    aside = [one.number for one in rest if one.cause == Cause.ASIDE]
    gone |= set(aside[: max(0, len(aside) - MOST_ASIDE)])
    left = sorted(
        (one for one in rest if one.number not in gone and one.cause != Cause.ASIDE),
        key=lambda one: (one.cause != Cause.AUTO, one.number),
    )
    return gone | {one.number for one in left[: max(0, len(left) - MOST + MOST_ASIDE + 1)]}


def _thin(session: Session, user: str, drill: str, versions: Sequence[DraftVersion]) -> None:
    gone = superseded(versions)
    if gone:
        mine = (DraftVersion.user_id == user, DraftVersion.drill == drill)
        session.execute(delete(DraftVersion).where(*mine, DraftVersion.number.in_(gone)))
