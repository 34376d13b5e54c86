"""What the pages of practice show: pure functions from the course, the drills and a learner's standings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

from app.course.access import View
from app.course.models import Kind
from app.course.models import Link as ItemLink
from app.jobs import Heartbeat
from app.practice.models import Cause, DraftVersion
from app.practice.pages import DraftRow, DrillRow, LaneChoice, Link
from app.progress.pages import Standing
from app.progress.service import Standings, title_of
from app.submissions.lanes import lane_note
from grader.drill import Drill
from grader.verdict import Lane

Drills = Mapping[str, Drill]


def drill_row(drill: Drill, standings: Standings) -> DrillRow:
    """A drill as a line of a list."""
    standing, _ = standings.of(ItemLink(Kind.DRILL, drill.id))
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


def up_next(view: View, drills: Drills, standings: Standings, limit: int = 3) -> tuple[Link, ...]:
    """What to do next: the first unfinished steps of each track, then of each topic."""
    found: dict[ItemLink, Link] = {}
    for link, path in _paths(view):
        title = title_of(link, view, drills)
        if title is not None and link not in found and standings.of(link)[0] in (Standing.NEW, Standing.TRIED):
            found[link] = Link(title, link.href, f"next in {path}")
        if len(found) == limit:
            break
    return tuple(found.values())


def _paths(view: View) -> Iterator[tuple[ItemLink, str]]:
    for track in view.tracks.values():
        yield from ((step, track.title) for step in track.steps)
    for topic in view.topics.values():
        yield from ((ItemLink(Kind.CARD, card), topic.name) for card in topic.cards)
        yield from ((ItemLink(Kind.QUESTION, question), topic.name) for question in topic.questions)


def resume(drills: Drills, standings: Standings, view: View, last_drill: str | None) -> Link | None:
    """Where the learner was: the drill they tried last if it is not passed, else what they read last."""
    if last_drill in drills and last_drill is not None and last_drill not in standings.passed:
        return Link(drills[last_drill].title, f"/drills/{last_drill}", "tried, not passed yet")
    for (kind, item), _ in sorted(standings.read.items(), key=lambda entry: entry[1], reverse=True):
        link = ItemLink(Kind(kind), item)
        title = title_of(link, view, drills)
        if title is not None:
            return Link(title, link.href, "what you read last")
    return None


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
