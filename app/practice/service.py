"""What the pages of practice show: pure functions from the course, the drills and a learner's standings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import get_args

from app.course.access import View
from app.course.journey import ahead
from app.course.journey import title_of as title_in
from app.course.models import Access, Kind
from app.course.models import Link as ItemLink
from app.jobs import Heartbeat
from app.practice.models import Cause, DraftVersion
from app.practice.pages import DraftRow, DrillRow, LaneChoice, Link
from app.progress.pages import Standing
from app.progress.service import Standings, title_of
from app.submissions.lanes import lane_note
from grader.drill import Drill, Level
from grader.verdict import Lane

Drills = Mapping[str, Drill]


def along_path(drills: Drills, view: View) -> tuple[Drill, ...]:
    """All drills in an order in which they can be passed: none before what it needs; of those whose needs are met,
    the lower level first, then the one that the tracks come to first.
    """
    steps = [step.id for track in view.tracks.values() for step in track.steps if step.kind is Kind.DRILL]
    levels = get_args(Level)
    left = sorted(
        drills.values(),
        key=lambda drill: (
            levels.index(drill.level),
            steps.index(drill.id) if drill.id in steps else len(steps),
            drill.title,
        ),
    )
    path: dict[str, Drill] = {}
    while left:
        met = (one for one in left if all(need in path or need not in drills for need in one.needs))
        first = next(met, left[0])
        left.remove(first)
        path[first.id] = first
    return tuple(path.values())


def drill_row(drill: Drill, standings: Standings, view: View) -> DrillRow:
    """A drill as a line of a list. One that was begun is not called locked, even if it is closed by now."""
    standing, _ = standings.of(ItemLink(Kind.DRILL, drill.id))
    if standing is Standing.NEW and not view.may_work_on(drill.id):
        standing = Standing.LOCKED
    return DrillRow(
        id=drill.id,
        title=drill.title,
        kind=drill.kind,
        level=drill.level,
        summary=drill.summary,
        lanes=tuple(Lane(lane) for lane in drill.lanes),
        standing=standing,
        refused=_files(drill.folder / "mutants"),
        accepted=_files(drill.folder / "correct"),
    )


@cache
def _files(folder: Path) -> int:
    """How many kernels a folder holds. They change with a new version of the drills, so with a new process."""
    return sum(1 for _ in folder.glob("*.py"))


def up_next(view: View, standings: Standings, at: ItemLink | None, limit: int = 3) -> tuple[Link, ...]:
    """What to do next for somebody who is at `at`, each with its reason."""
    steps = ahead(view, done_by(standings), at, limit)
    return tuple(Link(title_in(view, step.link), step.link.href, step.why) for step in steps)


def done_by(standings: Standings) -> frozenset[ItemLink]:
    """What was read and passed, as links."""
    read = (ItemLink(Kind(kind), item) for kind, item in standings.read)
    return frozenset([*read, *(ItemLink(Kind.DRILL, drill) for drill in standings.passed)])


def where(drills: Drills, standings: Standings, view: View, last_drill: str | None) -> ItemLink | None:
    """Where the learner was: the drill they tried last if it is not passed, else what they read last."""
    if last_drill in drills and last_drill is not None and last_drill not in standings.passed:
        return ItemLink(Kind.DRILL, last_drill)
    read = sorted(standings.read.items(), key=lambda entry: entry[1], reverse=True)
    links = (ItemLink(Kind(kind), item) for (kind, item), _ in read)
    return next((link for link in links if title_of(link, view, drills) is not None), None)


def resume(drills: Drills, view: View, at: ItemLink | None) -> Link | None:
    """The place to go on at, as the home page shows it."""
    title = None if at is None else title_of(at, view, drills)
    if at is None or title is None:
        return None
    return Link(title, at.href, "tried, not passed yet" if at.kind is Kind.DRILL else "what you read last")


def first_drill(view: View, drills: Drills) -> Drill | None:
    """The drill to begin with: one that the policy opens by name, else the first open one along the tracks."""
    named = [name for name, access in view.snapshot.policy.drill_overrides if access is Access.OPEN]
    steps = [step.id for track in view.tracks.values() for step in track.steps if step.kind is Kind.DRILL]
    return next(
        (drills[name] for name in (*named, *steps, *drills) if name in drills and view.may_work_on(name)), None
    )


def needs(drill: Drill, view: View, drills: Drills) -> tuple[Link, ...]:
    """What is worth reading or passing before a drill."""
    links = [
        *(ItemLink(Kind.DRILL, need) for need in drill.needs),
        *(ItemLink(Kind.CARD, card) for card in drill.cards),
    ]
    titled = ((link, title_of(link, view, drills)) for link in links)
    return tuple(Link(title, link.href) for link, title in titled if title is not None)


def draft_row(version: DraftVersion, draft: DraftVersion | None) -> DraftRow:
    """A version of a draft as a line of a list; `draft` is the version that is the draft."""
    return DraftRow(
        number=version.number,
        saved_at=version.saved_at,
        cause=Cause(version.cause),
        lines=version.source.count("\n") + 1,
        size=len(version.source.encode()),
        is_draft=draft is not None and version.number == draft.number,
    )


def lane_choices(drill: Drill, workers: Sequence[Heartbeat], waiting: Mapping[str, int]) -> tuple[LaneChoice, ...]:
    """The lanes of a drill, with how long their queues are and whether anybody serves them."""
    return tuple(
        LaneChoice(Lane(lane), waiting[lane], note == "", note)
        for lane in drill.lanes
        for note in (lane_note(Lane(lane), workers),)
    )
